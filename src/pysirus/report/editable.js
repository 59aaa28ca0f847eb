/* The report's section that is edited. */
import { byId } from "./dom.js";
import { editor } from "./edit.js";

const { model, patterns } = JSON.parse(byId("editable").textContent);
const editing = editor(byId("edit"), model, patterns);
