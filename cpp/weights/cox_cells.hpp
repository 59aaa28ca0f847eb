// Rows with a time in, cells out: which rules hold together, until when, in which fold, with how much weight. Unlike
// the patterns of other losses they keep their order in time: who is at risk depends on it. Weights are exact integers
// and the order is (time, pattern, fold), so the order of the rows changes nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "weights/patterns.hpp"

namespace pysirus {

// Rows as they come. The span of a row is the number of distinct times of an event up to its own time: it is at risk
// at the first `span` of them, and a row with an event has it at the last of these.
struct CoxRows {
  std::int64_t n_rows;
  std::int32_t n_times, n_folds;
  const std::int32_t* span;
  const std::uint8_t *event, *fold;
  const std::int64_t* weight;  // null: 1 each
  LineTerms lines = {};        // their values [row][line]
};

// How many rows have an event at each time, [time][n_folds + 1]: without each of the folds, then all.
inline std::vector<std::int32_t> count_events(const CoxRows& rows) {
  const std::int64_t width = rows.n_folds + 1;
  std::vector<std::int32_t> count(rows.n_times * width);
  for (std::int64_t i = 0; i < rows.n_rows; ++i) {
    if (!rows.event[i]) continue;
    std::int32_t* at_time = count.data() + (rows.span[i] - 1) * width;
    for (std::int32_t f = 0; f <= rows.n_folds; ++f) at_time[f] += f != rows.fold[i];
  }
  return count;
}

// The cells of the first rules, those at risk longest first, in units of the whole weight.
struct CoxPrefix {
  Prefix patterns;                       // their bytes alone
  std::vector<std::int32_t> first_rule;  // [pattern + 1] into rules
  std::vector<std::int32_t> rules;       // those that hold, and lines, pattern by pattern
  std::vector<double> values;            // the value of each of them: 1 of a rule
  std::vector<std::int64_t> first_cell;  // [n_times + 1]: place 0 is the last time
  std::vector<std::int32_t> pattern;     // [cell]
  std::vector<std::uint8_t> fold;        // [cell]
  std::vector<double> weight, event;     // [cell] of all rows, and of those with an event
  std::int32_t n_rules() const { return patterns.n_rules; }
  std::int64_t size() const { return static_cast<std::int64_t>(first_rule.size()) - 1; }
};

class CoxTable {
 public:
  // `bits` [row][n_words] are changed: a rule that holds in more than half of the weight at risk is turned into its
  // complement, which leaves shorter lists and, of a rule that always holds, nothing. Scores move by a constant, to
  // which the likelihood is blind; the sign of the gap turns with the rule.
  CoxTable(const CoxRows& rows, std::int32_t n_rules, std::int32_t n_words, std::vector<std::uint64_t> bits)
      : n_times(rows.n_times), n_folds(rows.n_folds), n_events(count_events(rows)), turned(n_rules), n_words_(n_words) {
    turn(rows, n_rules, bits);
    std::vector<std::int64_t> order;
    for (std::int64_t i = 0; i < rows.n_rows; ++i)
      if (rows.span[i] > 0) order.push_back(i);
    number_patterns(order, bits, rows.lines);
    std::sort(order.begin(), order.end(), [&](std::int64_t i, std::int64_t k) {
      if (rows.span[i] != rows.span[k]) return rows.span[i] > rows.span[k];
      if (row_pattern_[i] != row_pattern_[k]) return row_pattern_[i] < row_pattern_[k];
      return rows.fold[i] < rows.fold[k];
    });
    for (const std::int64_t i : order) add_row(rows, i);
    row_pattern_.clear();
  }

  // `folds` keeps them apart; else they are all fold 0.
  CoxPrefix make(std::int32_t n_rules, bool folds) const {
    CoxPrefix prefix;
    prefix.patterns = {n_rules, (n_rules + 7) / 8, 1, {}, {}, {}, {}, {}};
    for (const std::int32_t term : lines_.terms)
      if (term < n_rules) prefix.patterns.lines.push_back(term);
    const std::vector<std::int32_t> to = add_patterns(n_rules, prefix);
    std::vector<std::int64_t> weight(n_folds), event(n_folds);
    std::size_t at = 0;
    for (std::int32_t span = n_times; span > 0; --span) {
      prefix.first_cell.push_back(static_cast<std::int64_t>(prefix.fold.size()));
      while (at < span_.size() && span_[at] == span) {
        const std::int32_t pattern = to[pattern_[at]];
        for (; at < span_.size() && span_[at] == span && to[pattern_[at]] == pattern; ++at) {
          const std::int32_t f = folds ? fold_[at] : 0;
          weight[f] += weight_[at];
          event[f] += event_[at];
        }
        add_cells(pattern, weight, event, prefix);
      }
    }
    prefix.first_cell.push_back(static_cast<std::int64_t>(prefix.fold.size()));
    return prefix;
  }

  const std::int32_t n_times, n_folds;
  const std::vector<std::int32_t> n_events;  // [time][n_folds + 1], of count_events
  std::vector<std::uint8_t> turned;          // [rule]

 private:
  void turn(const CoxRows& rows, std::int32_t n_rules, std::vector<std::uint64_t>& bits) {
    std::vector<std::int64_t> inside(n_rules);
    for (std::int64_t i = 0; i < rows.n_rows; ++i) {
      if (rows.span[i] == 0) continue;
      const std::int64_t weight = rows.weight ? rows.weight[i] : 1;
      total_ += weight;
      for (std::int32_t r = 0; r < n_rules; ++r)
        if (bits[i * n_words_ + r / 64] >> (r % 64) & 1) inside[r] += weight;
    }
    std::vector<std::uint64_t> mask(n_words_);
    for (std::int32_t r = 0; r < n_rules; ++r)
      if ((turned[r] = inside[r] > total_ - inside[r])) mask[r / 64] |= std::uint64_t{1} << (r % 64);
    for (std::int64_t i = 0; i < rows.n_rows; ++i)
      for (std::int32_t w = 0; w < n_words_; ++w) bits[i * n_words_ + w] ^= mask[w];
  }

  // Patterns in the order of the first rule in which they differ: those of the first k rules are runs of neighbours.
  void number_patterns(std::vector<std::int64_t> order, const std::vector<std::uint64_t>& bits,
                       const LineTerms& lines) {
    lines_.terms = lines.terms;
    const auto of = [&](std::int64_t i) { return bits.data() + i * n_words_; };
    std::sort(order.begin(), order.end(), [&](std::int64_t i, std::int64_t k) {
      const std::int32_t differs = first_difference(of(i), of(k), n_words_, lines, i, k);
      return differs < 64 * n_words_ && comes_before(of(k), lines, i, k, differs);
    });
    row_pattern_.resize(n_words_ > 0 ? bits.size() / n_words_ : 0);
    for (std::size_t at = 0; at < order.size(); ++at) {
      const std::int32_t differs =
          at == 0 ? -1 : first_difference(of(order[at - 1]), of(order[at]), n_words_, lines, order[at - 1], order[at]);
      if (differs < 64 * n_words_) {
        differs_.push_back(differs);
        bits_.insert(bits_.end(), of(order[at]), of(order[at]) + n_words_);
        lines_.values.insert(lines_.values.end(), lines.of(order[at]), lines.of(order[at]) + lines.size());
      }
      row_pattern_[order[at]] = static_cast<std::int32_t>(differs_.size()) - 1;
    }
  }

  // Rows come in the order of cells.
  void add_row(const CoxRows& rows, std::int64_t i) {
    const std::int64_t weight = rows.weight ? rows.weight[i] : 1;
    if (span_.empty() || span_.back() != rows.span[i] || pattern_.back() != row_pattern_[i] ||
        fold_.back() != rows.fold[i]) {
      span_.push_back(rows.span[i]);
      pattern_.push_back(row_pattern_[i]);
      fold_.push_back(rows.fold[i]);
      weight_.push_back(0);
      event_.push_back(0);
    }
    weight_.back() += weight;
    if (rows.event[i]) event_.back() += weight;
  }

  // The patterns of the first rules, and which of them each pattern of all rules is.
  std::vector<std::int32_t> add_patterns(std::int32_t n_rules, CoxPrefix& prefix) const {
    std::vector<std::int32_t> to(differs_.size());
    for (std::size_t p = 0; p < differs_.size(); ++p) {
      if (differs_[p] < n_rules) {
        prefix.first_rule.push_back(static_cast<std::int32_t>(prefix.rules.size()));
        for (std::int32_t b = 0; b < prefix.patterns.n_bytes; ++b) prefix.patterns.bytes.push_back(0);
        std::size_t line = 0;
        for (std::int32_t r = 0; r < n_rules; ++r)
          if (line < prefix.patterns.lines.size() && prefix.patterns.lines[line] == r) {
            prefix.rules.push_back(r);
            prefix.values.push_back(lines_.of(static_cast<std::int64_t>(p))[line++]);
            prefix.patterns.values.push_back(prefix.values.back());
          } else if (bits_[p * n_words_ + r / 64] >> (r % 64) & 1) {
            prefix.rules.push_back(r);
            prefix.values.push_back(1.0);
            prefix.patterns.bytes[prefix.patterns.bytes.size() - prefix.patterns.n_bytes + r / 8] |= 1u << (r % 8);
          }
      }
      to[p] = static_cast<std::int32_t>(prefix.first_rule.size()) - 1;
    }
    prefix.first_rule.push_back(static_cast<std::int32_t>(prefix.rules.size()));
    return to;
  }

  void add_cells(std::int32_t pattern, std::vector<std::int64_t>& weight, std::vector<std::int64_t>& event,
                 CoxPrefix& prefix) const {
    const double unit = 1.0 / static_cast<double>(total_);
    for (std::int32_t f = 0; f < n_folds; ++f) {
      if (weight[f] == 0) continue;
      prefix.pattern.push_back(pattern);
      prefix.fold.push_back(static_cast<std::uint8_t>(f));
      prefix.weight.push_back(static_cast<double>(weight[f]) * unit);
      prefix.event.push_back(static_cast<double>(event[f]) * unit);
      weight[f] = event[f] = 0;
    }
  }

  std::int32_t n_words_;
  std::int64_t total_ = 0;
  std::vector<std::int32_t> row_pattern_;     // [row], while cells are made
  std::vector<std::uint64_t> bits_;           // [pattern][word]
  LineTerms lines_;                           // their values [pattern][line]
  std::vector<std::int32_t> differs_;         // [pattern] the first rule in which it differs from the one before
  std::vector<std::int32_t> span_, pattern_;  // [cell]
  std::vector<std::uint8_t> fold_;            // [cell]
  std::vector<std::int64_t> weight_, event_;  // [cell]
};

}  // namespace pysirus
