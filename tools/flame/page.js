// The state of the page, and what changes it. Every change ends in rebuild(), relayout() or
// redraw(); the panels (panels.js) and input (input.js) call nothing else.
'use strict';

const ZOOM_MS = 160;

class Page {
	constructor(profile, canvas) {
		this.profile = profile;
		this.canvas = canvas;
		this.type = profile.defaultType;
		this.filters = [];
		this.callers = false;
		this.shares = false;
		this.widthOfBase = false;
		this.theme = 'auto';
		this.query = '';
		this.matches = null;
		this.labels = [];
		this.focus = -1;
		this.panels = null;
		this.frame = 0;
		this.drawn = false;
	}

	get unit() { return this.profile.types[this.type].unit; }
	get look() { return LOOKS[this.darkNow() ? 'dark' : 'light']; }

	darkNow() {
		return this.theme === 'dark' || (this.theme === 'auto' && matchMedia('(prefers-color-scheme: dark)').matches);
	}

	// Another type, filter or view: sums and tree anew. The zoom stays where its path still exists.
	rebuild(keepPath) {
		const path = keepPath ? this.pathFrames() : [];
		this.sums = sumNodes(this.profile, this.type, this.filters, this.shares);
		this.frameSums = sumFrames(this.profile, this.sums);
		this.tree = new (this.callers ? CallerTree : CallTree)(this.profile, this.sums, this.widthOfBase);
		this.colours = [];
		this.focus = -1;
		this.found = this.matches ? sumMatches(this.profile, this.sums.total, this.matches) : 0;
		this.zoomed = this.findPath(path);
		[this.from, this.to] = this.rangeOf(this.zoomed);
		this.panels.refresh();
		this.relayout();
	}

	pathFrames() {
		const path = [];
		for (let at = this.zoomed; at > 0; at = this.tree.parent(at))
			path.unshift(this.tree.frame(at));
		return path;
	}

	findPath(frames) {
		let at = 0;
		for (const frame of frames) {
			const next = this.tree.children(at).find(child => this.tree.frame(child) === frame);
			if (next === undefined)
				break;
			at = next;
		}
		return at;
	}

	rangeOf(node) {
		const start = startOf(this.tree, node);
		return [start, start + this.tree.width(node)];
	}

	relayout() {
		const empty = !(this.to > this.from);
		this.canvas.setRows(empty ? [] : layOut(this.tree, this.from, this.to, this.canvas.width));
		this.redraw();
	}

	redraw() {
		if (!this.frame)
			this.frame = requestAnimationFrame(() => { this.frame = 0; this.drawNow(); });
	}

	drawNow() {
		const { profile, tree, look } = this;
		const above = new Set();
		for (let at = tree.parent(this.zoomed); at >= 0; at = tree.parent(at))
			above.add(at);
		this.canvas.draw({
			look,
			focus: document.activeElement === this.canvas.canvas ? this.focus : -1,
			colourOf: node => this.colourOf(node, look),
			labelsOf: node => this.labelsOf(node),
			inlinedAt: node => node > 0 && profile.frames[tree.frame(node)].inlined,
			dimmed: node => above.has(node),
		});
		if (!this.drawn)
			performance.mark('cprof-drawn');
		this.drawn = true;
	}

	colourOf(node, look) {
		if (node === 0)
			return look.root;
		const frame = this.tree.frame(node);
		if (this.matches && this.matches[frame])
			return look.match;
		if (this.profile.differential)
			return changeColour(look, this.tree.value(node) - this.tree.base(node), this.wholeWidth());
		return this.colours[frame] || (this.colours[frame] = frameColour(look, this.profile.frames[frame]));
	}

	wholeWidth() { return Math.max(this.tree.value(0), this.tree.base(0)); }

	nameOf(node) {
		if (node === 0)
			return this.callers ? 'all, by the function they ended in' : 'all';
		return this.profile.frames[this.tree.frame(node)].name;
	}

	labelsOf(node) {
		if (node === 0)
			return [this.nameOf(0)];
		const f = this.tree.frame(node), { name } = this.profile.frames[f];
		return this.labels[f] || (this.labels[f] = [name, ...shorterNames(name)]);
	}

	// ---- zoom ----

	zoomTo(node) {
		this.zoomed = node;
		this.panels.refreshPath();
		this.moveTo(...this.rangeOf(node));
	}

	// The nearest node above that shows more than now.
	zoomOut() {
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
		this.relayout();
	}

	// The topmost of the narrowest nodes that fill the view.
	covering() {
		let at = 0, best = 0, start = 0, deeper = true;
		const slack = (this.to - this.from) * 1e-6;
		while (deeper) {
			deeper = false;
			let childStart = start;
			for (const child of this.tree.children(at)) {
				const end = childStart + this.tree.width(child);
				if (childStart <= this.from + slack && end >= this.to - slack) {
					if (this.tree.width(child) < this.tree.width(best))
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
			this.canvas.setRows(to > from ? layOut(this.tree, this.from, this.to, this.canvas.width) : []);
			this.drawNow();
			this.moving = part < 1 ? requestAnimationFrame(step) : 0;
		};
		this.moving = requestAnimationFrame(step);
	}

	// ---- search ----

	// Part of a name, file or module, whatever the case; between slashes a regular expression.
	// Returns false where that can't be read.
	search(query) {
		this.query = query;
		let test;
		if (/^\/.+\/$/.test(query)) {
			try {
				const pattern = new RegExp(query.slice(1, -1), 'i');
				test = text => pattern.test(text);
			} catch (error) {
				return false;
			}
		} else {
			const part = query.toLowerCase();
			test = text => text.toLowerCase().includes(part);
		}
		const matching = frame => test(frame.name) || test(frame.file) || test(frame.module);
		this.matches = query === '' ? null : Uint8Array.from(this.profile.frames, f => matching(f) ? 1 : 0);
		this.found = this.matches ? sumMatches(this.profile, this.sums.total, this.matches) : 0;
		this.panels.refreshFound();
		this.redraw();
		return true;
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
		const row = this.canvas.rows[place.row + rows];
		if (!row)
			return undefined;
		if (rows < 0)
			return this.setFocus(this.tree.parent(this.focus));
		const nodes = row.node.filter(node => node >= 0 && (rows === 0 || this.tree.parent(node) === this.focus));
		const next = rows === 0 ? nodes[nodes.indexOf(this.focus) + along] : nodes[0];
		return next === undefined ? undefined : this.setFocus(next);
	}

	focusMatch(direction) {
		if (!this.matches)
			return;
		const nodes = this.canvas.rows.flatMap(row => row.node)
			.filter(node => node > 0 && this.matches[this.tree.frame(node)]);
		const at = nodes.indexOf(this.focus);
		if (nodes.length)
			this.setFocus(nodes[(at + direction + nodes.length + (at < 0 && direction < 0 ? 1 : 0)) % nodes.length]);
	}
}
