/* What the page shows, and which part of it is shown now. */
import { byId } from "./dom.js";

export const data = JSON.parse(byId("data").textContent);
export const state = { size: data.chosen, effectClass: 0, rowClass: 0, row: null, match: -1 };
