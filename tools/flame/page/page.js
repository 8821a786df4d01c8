// SPDX-License-Identifier: BSD-3-Clause
// The state of the page, and what changes it. Every change ends in rebuild(), relayout() or
// redraw(); the panels (panels.js) and input (input.js) call nothing else.
'use strict';

const ZOOM_MS = 160;

class Page {
	constructor(all, canvas) {
		this.all = all;
		this.canvas = canvas;
		this.before = []; // the path that was zoomed to before a function was shown
		this.theme = 'auto';
		this.labels = [];
		this.colours = [];
		this.frame = 0;
		// The rest is set by applyState() (state.js): `sandwich`, for one, is the frame whose callers
		// and callees are shown.
	}

	get unit() { return this.profile.types[this.type].unit; }
	get look() { return LOOKS[this.darkNow() ? 'dark' : 'light']; }

	darkNow() {
		return this.theme === 'dark' || (this.theme === 'auto' && matchMedia('(prefers-color-scheme: dark)').matches);
	}

	// Another type, filter or view: sums and tree anew. The zoom goes to PATH, as far as it exists.
	rebuild(path) {
		this.cancelMove();
		this.sums = new Sums(this.profile, this.type, this.filters, this.shares);
		this.self = sumSelf(this.profile, this.sums);
		this.knownFrameSums = null;
		this.starts = findStarts(this.profile, this.sums);
		this.tree = new (this.sandwich >= 0 ? SandwichTree : this.callers ? CallerTree : CallTree)(this.profile, this.sums,
			this.widthOfBase, this.unfolded ? new Map() : this.starts, this.sandwich);
		this.focus = -1;
		this.countMatches();
		this.zoomed = this.findPath(path);
		[this.from, this.to] = this.rangeOf(this.zoomed);
		this.panels.refresh();
		this.relayout();
		this.canvas.centre(this.canvas.placeOf(0));
	}

	// Only tooltips and the table need them.
	get frameSums() {
		return this.knownFrameSums || (this.knownFrameSums = sumFrames(this.profile, this.sums));
	}

	// What was changed with a choice of the toolbar; the back button undoes it.
	changed(path) {
		this.rebuild(path);
		this.history.write(true);
	}

	// The callers and callees of a function; below 0: as it was before.
	showFunction(frame) {
		if (frame === this.sandwich)
			return;
		if (this.sandwich < 0)
			this.before = this.pathFrames();
		this.sandwich = frame;
		this.timeShown = false;
		this.changed(frame < 0 ? this.before : []);
	}

	// A click, or Enter: into a frame; of the frame that fills the view, its callers and callees.
	open(node) {
		const [from, to] = this.rangeOf(node), fills = node === this.zoomed && (this.moving || (from === this.from && to === this.to));
		this.focus = node;
		if (this.tree.chain(node)) {
			this.unfolded = true;
			this.changed(this.pathFrames());
		} else if (this.tree.frame(node) >= 0 && (this.sandwich >= 0 || fills)) {
			this.showFunction(this.tree.frame(node));
		} else {
			this.zoomTo(node);
		}
		this.panels.refreshStatus();
	}

	showTab(index) {
		if (index === this.tabIndex)
			return;
		this.timeShown = index === this.all.tabs.length;
		this.showProfile(index);
	}

	// In the tab Time it is the graph below.
	showProfile(index) {
		const path = this.callers ? [] : this.pathFrames(), tab = this.all.tabs[index] || this.profile;
		this.type = tab === this.profile ? this.type : tab.defaultType;
		this.profile = tab;
		this.shares = this.shares && tab.differential;
		this.widthOfBase = this.widthOfBase && tab.differential;
		this.setFilters(this.filters);
		this.changed(path);
	}

	get timeline() { return this.knownTimeline || (this.knownTimeline = new Timeline(this)); }
	// Is there a graph, of the window of time in its tab?
	get graphShown() { return !this.timeShown || this.all.window !== null; }
	get tabIndex() { return this.timeShown ? this.all.tabs.length : this.profile.index; }

	// Restricts all tabs to a window of time; null: to none.
	setWindow(window) {
		this.all.window = window;
		this.changed(this.callers ? [] : this.pathFrames());
	}

	// Those of them that the profile has labels for.
	setFilters(filters) {
		const totals = filters.length ? labelTotals(this.profile, this.type) : [];
		this.filters = filters.filter(({ key, value }) => totals.some(label =>
			label.key === key && label.values.some(one => one.value === value)));
	}

	pathFrames() {
		const path = [];
		for (let at = this.zoomed; at > 0; at = this.tree.caller(at))
			path.unshift(this.tree.frame(at));
		return path;
	}

	findPath(frames) {
		let at = 0;
		for (const frame of frames) {
			const next = this.tree.children(at).nodes.find(child => this.tree.frame(child) === frame);
			const chain = this.tree.chain(at);
			if (next === undefined && !(chain && chain.some(node => this.tree.frame(node) === frame)))
				break;
			at = next === undefined ? at : next;
		}
		return at;
	}

	rangeOf(node) {
		const start = startOf(this.tree, node);
		return [start, start + this.tree.width(node)];
	}

	layOut() {
		const { tree, from, to, canvas } = this;
		const rows = to > from ? layOut(tree, from, to, canvas.width) : [];
		canvas.setRows(tree.top && to > from ? [...layOut(tree, from, to, canvas.width, tree.top).slice(1).reverse(), ...rows] : rows);
	}

	relayout() {
		this.layOut();
		this.redraw();
	}

	redraw() {
		if (!this.frame)
			this.frame = requestAnimationFrame(() => { this.frame = 0; this.drawNow(); });
	}

	drawNow() {
		if (this.timeShown)
			this.timeline.draw();
		if (!this.graphShown)
			return;
		const { tree, look } = this;
		const above = new Set();
		for (let at = tree.parent(this.zoomed); at >= 0; at = tree.parent(at))
			above.add(at);
		this.canvas.draw({
			look,
			focus: document.activeElement === this.canvas.canvas && this.focus >= 0 ? this.focus : this.sandwich >= 0 ? 0 : -1,
			colourOf: node => this.colourOf(node, look),
			labelsOf: node => this.labelsOf(node),
			inlinedAt: node => tree.frame(node) >= 0 && !tree.chain(node) && tree.inlined(node),
			dimmed: node => above.has(node),
			empty: this.panels.describe(0),
		});
		if (!this.timeShown)
			this.panels.refreshAxis();
		if (!performance.getEntriesByName('cprof-drawn').length)
			performance.mark('cprof-drawn');
	}

	colourOf(node, look) {
		const frame = this.tree.frame(node);
		if (frame < 0)
			return look.root;
		if (this.matches && this.framesAt(node).some(one => this.matches[one]))
			return look.match;
		if (this.profile.differential)
			return changeColour(look, this.changeOf(node));
		return this.colours[frame] || (this.colours[frame] = frameColour(look, this.profile.frames[frame]));
	}

	// By how much a node changed, as a share of the larger side.
	changeOf(node) {
		const whole = Math.max(this.sums.whole, this.sums.baseWhole);
		return whole > 0 ? (this.tree.value(node) - this.tree.base(node)) / whole : 0;
	}

	// The frames that a node stands for: of a folded row, all of them.
	framesAt(node) { return (this.tree.chain(node) || [null]).map(at => at === null ? this.tree.frame(node) : this.profile.nodes.mark[at] >>> 1); }

	nameOf(node) {
		const frames = this.framesAt(node);
		if (frames[0] < 0)
			return this.callers ? 'all, by the function they ended in' : 'all';
		return frames.length > 1 ? `\u25b8 ${frames.length} frames of the runtime` : this.profile.frames[frames[0]].name;
	}

	shortNameOf(node) { return this.tree.frame(node) < 0 ? this.nameOf(node) : shortName(this.nameOf(node)); }

	labelsOf(node) {
		const f = this.tree.frame(node), name = this.nameOf(node);
		if (f < 0)
			return [`${name} (${valueText(this.tree.width(node), this.unit)})`, name];
		if (this.tree.chain(node))
			return [name, name.slice(0, name.indexOf(' of'))];
		return this.labels[f] || (this.labels[f] = [...new Set([name, shortName(name), ...shorterNames(name)])]);
	}

	// ---- zoom ----

	zoomTo(node) {
		this.zoomed = node;
		this.panels.refreshPath();
		this.history.write(true);
		this.moveTo(...this.rangeOf(node));
	}

	// The nearest node above that shows more than now.
	zoomOut() {
		if (this.sandwich >= 0) {
			this.showFunction(-1);
			return;
		}
		const shown = (this.to - this.from) * 1.000001;
		let at = this.zoomed;
		while (at > 0 && this.tree.width(at) <= shown)
			at = this.tree.parent(at);
		this.zoomTo(Math.max(at, 0));
	}

	zoomAround(share, factor) {
		const whole = this.tree.width(0), middle = this.from + (this.to - this.from) * share;
		const width = Math.max(Math.min((this.to - this.from) / factor, whole), whole * 1e-9);
		this.show(middle - width * share, width);
	}

	pan(share) {
		const width = this.to - this.from;
		this.show(this.from + width * share, width);
	}

	show(from, width) {
		const whole = this.tree.width(0);
		this.cancelMove();
		this.from = Math.max(0, Math.min(from, whole - width));
		this.to = this.from + width;
		this.zoomed = this.covering();
		this.panels.refreshPath();
		this.history.write(false);
		this.relayout();
	}

	// The topmost of the narrowest nodes that fill the view.
	covering() {
		let at = 0, best = 0, start = 0, deeper = true;
		const slack = (this.to - this.from) * 1e-6;
		while (deeper) {
			deeper = false;
			let childStart = start;
			const { nodes, widths } = this.tree.children(at);
			for (let i = 0; i < nodes.length && childStart <= this.from + slack; i++) {
				const child = nodes[i], end = childStart + widths[i];
				if (end >= this.to - slack) {
					if (widths[i] < this.tree.width(best))
						best = child;
					[at, start, deeper] = [child, childStart, true];
					break;
				}
				childStart = end;
			}
		}
		return best;
	}

	cancelMove() {
		cancelAnimationFrame(this.moving);
		this.moving = 0;
	}

	moveTo(from, to) {
		this.cancelMove();
		const still = matchMedia('(prefers-reduced-motion: reduce)').matches;
		const start = performance.now(), [oldFrom, oldTo] = [this.from, this.to];
		const step = now => {
			const part = still ? 1 : Math.max(0, Math.min((now - start) / ZOOM_MS, 1));
			const eased = part * (2 - part);
			this.from = part === 1 ? from : oldFrom + (from - oldFrom) * eased;
			this.to = part === 1 ? to : oldTo + (to - oldTo) * eased;
			this.layOut();
			this.drawNow();
			this.moving = part < 1 ? requestAnimationFrame(step) : 0;
		};
		this.moving = requestAnimationFrame(step);
	}

	// ---- search ----

	// Part of a name, file or module, whatever the case; between slashes a regular expression.
	// Returns false where that can't be read; `invalid` then says why, and nothing matches.
	search(query) {
		const good = this.setQuery(query);
		this.countMatches();
		this.panels.refreshFound();
		this.history.write(false);
		this.redraw();
		return good;
	}

	setQuery(query) {
		this.query = query;
		this.invalid = '';
		this.matches = null;
		if (query === '')
			return true;
		let test;
		if (/^\/.+\/$/.test(query)) {
			try {
				const pattern = new RegExp(query.slice(1, -1), 'i');
				test = text => pattern.test(text);
			} catch (error) {
				this.invalid = error.message.replace(/^Invalid regular expression: /, '');
				return false;
			}
		} else {
			const part = query.toLowerCase();
			test = text => text.toLowerCase().includes(part);
		}
		const matching = frame => test(frame.name) || test(frame.file) || test(frame.module);
		this.matches = Uint8Array.from(this.profile.frames, f => matching(f) ? 1 : 0);
		return true;
	}

	countMatches() {
		this.found = this.matches ? sumMatches(this.profile, this.sums, this.matches) : 0;
	}

	// ---- the frame that keys act on ----

	setFocus(node) {
		this.focus = node;
		const place = this.canvas.placeOf(node);
		if (place)
			this.canvas.reveal(place.row);
		this.panels.refreshStatus();
		this.redraw();
	}

	focusPlace() {
		return this.canvas.placeOf(this.focus) || this.canvas.placeOf(this.zoomed) || this.canvas.placeOf(0);
	}

	// One row nearer to (-1) or farther from (1) the root, or along the row.
	moveFocus(rows, along) {
		const place = this.canvas.placeOf(this.focus);
		if (!place)
			return this.setFocus(this.zoomed);
		const row = this.canvas.rows[place.row + rows], { tree, focus } = this;
		if (!row)
			return undefined;
		const nodes = row.node.filter(node => node >= 0 && (rows === 0 || tree.parent(node) === focus || tree.parent(focus) === node));
		const next = rows === 0 ? nodes[nodes.indexOf(this.focus) + along] : nodes[0];
		return next === undefined ? undefined : this.setFocus(next);
	}

	focusMatch(direction) {
		if (!this.matches)
			return;
		const nodes = this.canvas.rows.flatMap(row => row.node)
			.filter(node => node >= 0 && this.tree.frame(node) >= 0 && this.framesAt(node).some(f => this.matches[f]));
		const at = nodes.indexOf(this.focus);
		if (nodes.length)
			this.setFocus(nodes[(at + direction + nodes.length + (at < 0 && direction < 0 ? 1 : 0)) % nodes.length]);
	}
}
