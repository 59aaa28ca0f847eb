def make_page(store): return ""
