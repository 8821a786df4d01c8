// SPDX-License-Identifier: BSD-3-Clause
// The tab Time: lanes of threads on one axis, with their spans above; CPUs, memory and what is
// periodic below. A drag selects a window, which restricts all tabs.
'use strict';

const LANE = 18, SPAN = 12, GAP = 4, HEAD = 18, CURVE = 46, LEAST_VIEW = 1e3;
const WAIT_TEXT = {
	ready: 'ready to run', lock: 'waits for a lock', thread: 'waits for a thread', disk: 'waits for a disk',
	network: 'waits for a peer', idle: 'waits for work or time', other: 'waits',
};

class Timeline {
	constructor(page) {
		this.page = page;
		this.times = page.all.times;
		[this.from, this.to] = [0, this.times.length];
		this.selected = null; // an event or span
		this.focus = 0;	      // the row that keys act on
		this.drag = null;
		this.unfolded = false;
		this.lanes = byId('lanes').getContext('2d', { alpha: false });
		this.strips = byId('strips').getContext('2d', { alpha: false });
		[this.picture, this.beats] = [0, 1].map(() => document.createElement('canvas').getContext('2d', { willReadFrequently: true }));
		this.orderRows();
		const wake = [...this.times.events.values()].some(({ wakes }) => wakes.length);
		this.wakeHint = wake ? '; a click on a wait shows who ended it' : '';
	}

	// ---- rows: the busiest names first, idle threads folded ----

	orderRows() {
		const groups = new Map(), { lanes } = this.times, most = lanes.reduce((max, lane) => Math.max(max, lane.busy), 0);
		const worth = lane => most > 0 ? lane.busy : lane.active, least = (most || this.times.length) * 1e-3;
		const idle = lanes.filter(lane => worth(lane) < least && !lane.spans.length), rows = [];
		for (const lane of lanes) {
			const name = lane.name.replace(/[-_:#/ ]*\d+$/, '') || lane.name, key = `${name} ${lane.process}`;
			if (!idle.includes(lane))
				(groups.get(key) || groups.set(key, { name, lanes: [] }).get(key)).lanes.push(lane);
		}
		for (const group of groups.values())
			group.busy = group.lanes.reduce((sum, lane) => sum + worth(lane), 0);
		const lane = one => rows.push({ lane: one, height: one.spans.length * SPAN + LANE + GAP });
		for (const group of [...groups.values()].sort((a, b) => b.busy - a.busy)) {
			if (group.lanes.length > 1)
				rows.push({ text: `${group.name || 'no name'} \u00d7 ${group.lanes.length}`, height: HEAD });
			group.lanes.sort((a, b) => worth(b) - worth(a)).forEach(lane);
		}
		if (idle.length) {
			rows.push({ fold: true, height: HEAD, text: `${this.unfolded ? '\u25be' : '\u25b8'} ${idle.length} idle thread${idle.length > 1 ? 's' : ''}` });
			if (this.unfolded)
				idle.forEach(lane);
		}
		let top = 0;
		for (const row of rows) {
			row.top = top;
			top += row.height;
		}
		this.rows = rows;
		this.rowsHeight = top + 4;
	}

	rowAt(y) { return this.rows.findIndex(row => y >= row.top && y < row.top + row.height); }
	rowOf(lane) { return this.rows.find(row => row.lane && row.lane.index === lane); }

	// ---- places ----

	measure() {
		const scroller = byId('lanes-scroller'), ratio = window.devicePixelRatio || 1;
		this.width = byId('time').clientWidth;
		this.gutter = this.width < 600 ? 84 : 150;
		this.plot = Math.max(this.width - this.gutter, 1);
		this.curves = this.curveList();
		// Above a graph the lanes come first.
		const split = this.split = this.page.graphShown, low = innerHeight < 600 || split, curve = low ? CURVE / 2 : CURVE;
		this.beatPixels = split && innerHeight < 1000 ? 0 : low ? 1 : 2;
		const beats = this.times.mostInBeat > 0 && this.beatPixels ? BEATS * this.beatPixels + GAP : 0;
		const set = (context, height) => {
			const { canvas } = context;
			canvas.width = Math.round(this.width * ratio);
			canvas.height = Math.round(height * ratio);
			canvas.style.width = `${this.width}px`;
			canvas.style.height = `${height}px`;
			context.setTransform(ratio, 0, 0, ratio, 0, 0);
			context.font = FONT;
			context.textBaseline = 'middle';
		};
		this.curveHeight = curve;
		this.stripsHeight = this.curves.length * (curve + GAP) + beats + 2;
		byId('lanes-spacer').style.height = `${this.rowsHeight}px`;
		set(this.strips, this.stripsHeight);
		this.height = scroller.clientHeight;
		set(this.lanes, this.height);
		this.letter = this.lanes.measureText('m').width;
	}

	x(when) { return this.gutter + (when - this.from) / (this.to - this.from) * this.plot; }
	when(x) { return this.from + (x - this.gutter) / this.plot * (this.to - this.from); }

	show(from, to) {
		const width = Math.min(Math.max(to - from, LEAST_VIEW), this.times.length);
		this.from = Math.max(0, Math.min(from, this.times.length - width));
		this.to = this.from + width;
		this.page.redraw();
	}

	zoom(x, factor) {
		const middle = this.when(x), width = Math.max((this.to - this.from) / factor, LEAST_VIEW);
		this.show(middle - (x - this.gutter) / this.plot * width, middle - (x - this.gutter) / this.plot * width + width);
	}

	pan(share) { this.show(this.from + share * (this.to - this.from), this.to + share * (this.to - this.from)); }

	// ---- drawing ----

	draw() {
		if (byId('time').clientWidth !== this.width || byId('lanes-scroller').clientHeight !== this.height || this.split !== this.page.graphShown)
			this.measure();
		const { look } = this.page;
		if (this.look !== look) {
			this.look = look;
			this.colours = Uint32Array.from(this.times.kinds, kind => this.pixelOf(this.colourOf(kind)));
			this.back = this.pixelOf(look.back);
			this.alive = this.pixelOf(look.alive);
			this.spanColours = Array.from({ length: SPAN_HUES }, (_, i) => this.pixelOf(look.span(i * 360 / SPAN_HUES)));
			this.beatColours = Array.from({ length: 17 }, (_, i) => this.pixelOf(i ? look.changed(i / 16, true) : look.back));
		}
		this.refreshAxis();
		this.drawLanes();
		this.drawStrips();
		performance.mark('cprof-time-drawn');
	}

	colourOf(kind) {
		if (kind >= RUNNING)
			return this.look.waits[WAITS[(kind - RUNNING) % WAITS.length]];
		return KINDS.find(one => one.kind === Math.floor(kind / HUES)).colour(this.look, 0.5, kind % HUES / HUES);
	}

	pixelOf(colour) {
		this.picture.fillStyle = colour;
		this.picture.fillRect(0, 0, 1, 1);
		return new Uint32Array(this.picture.getImageData(0, 0, 1, 1).data.buffer)[0];
	}

	drawLanes() {
		const context = this.lanes, { look } = this, scrolled = byId('lanes-scroller').scrollTop;
		const plot = Math.ceil(this.plot), height = Math.max(Math.ceil(this.height), 1);
		if (!this.image || this.image.width !== plot || this.image.height !== height) {
			this.image = new ImageData(plot, height);
			this.image32 = new Uint32Array(this.image.data.buffer);
			this.shares = new Float32Array(plot * this.times.kinds.length);
		}
		this.image32.fill(this.back);
		this.names = [];
		const seen = this.rows.filter(row => row.top + row.height > scrolled && row.top < scrolled + this.height);
		for (const row of seen) {
			const top = Math.round(row.top - scrolled), base = top + row.height - LANE - GAP;
			if (!row.lane)
				continue;
			this.paintLane(row.lane, base);
			row.lane.spans.forEach((level, i) => this.paintSpans(level, top + i * SPAN));
			this.nameEvents(row.lane, base);
		}
		context.fillStyle = look.back;
		context.fillRect(0, 0, this.width, this.height);
		this.put(context, this.picture, this.image, 0);
		context.fillStyle = look.text;
		for (const [text, x, y, room] of this.names)
			context.fillText(this.clipped(text, room), x, y);
		this.drawSelected(scrolled);
		this.drawWindow(context, this.height);
		for (const row of seen)
			this.drawHead(row, row.top - scrolled);
	}

	// Draws pixels of the page. Where the screen's are finer, they are scaled by way of another canvas.
	put(context, through, image, top) {
		if (window.devicePixelRatio === 1) {
			context.putImageData(image, this.gutter, top);
			return;
		}
		[through.canvas.width, through.canvas.height] = [image.width, image.height];
		through.putImageData(image, 0, 0);
		context.imageSmoothingEnabled = false;
		context.drawImage(through.canvas, this.gutter, top);
	}

	// A column of the lane shows the shares of its time: what ran from the bottom up, then waits. What
	// a wall profile saw of waits that are known exactly is left out.
	paintLane(lane, top) {
		const { image32, shares, colours, times } = this, kinds = times.kinds.length, width = this.image.width;
		const from = Math.max(this.x(lane.begin) - this.gutter, 0), to = Math.min(this.x(lane.end) - this.gutter, width);
		const low = Math.max(top, 0), high = Math.min(top + LANE, this.image.height);
		for (let y = low; to > from && y < high; y++)
			image32.fill(this.alive, y * width + Math.floor(from), y * width + Math.ceil(to));
		shares.fill(0);
		times.fill(shares, lane, this.from, this.to, width);
		for (let x = 0, at = 0; x < width; x++, at += kinds) {
			let exact = 0, waits = 0, looked = 0, kind = 0;
			for (; kind < times.exactKinds; kind++) {
				exact += shares[at + kind];
				waits += kind < times.runningKinds ? 0 : shares[at + kind];
			}
			for (; kind < kinds; kind++)
				looked += shares[at + kind];
			if (exact + looked === 0)
				continue;
			const part = exact > 1 ? 1 / exact : 1;
			const rest = looked > 0 ? Math.min(Math.max(looked - waits, 0), Math.max(1 - exact, 0)) / looked : 0;
			let sum = 0, y = top + LANE - 1;
			for (kind = 0; kind < kinds; kind++) {
				const share = shares[at + kind];
				if (share === 0)
					continue;
				sum += share * (kind < times.exactKinds ? part : rest);
				// At least one pixel, so that what is rare is seen.
				for (const end = top + LANE - Math.max(Math.round(sum * LANE), 1); y >= end; y--) {
					if (y >= low && y < high)
						image32[y * width + x] = colours[kind];
				}
			}
		}
	}

	clipped(text, room) { return room < 2 * this.letter ? '' : fitting([text], Math.floor(room / this.letter)); }

	drawHead(row, top) {
		const context = this.lanes, { lane } = row;
		context.fillStyle = lane ? this.look.text : this.look.faint;
		if (lane)
			context.fillText(this.clipped(lane.name || String(lane.tid), this.gutter - 10), 6, top + row.height - GAP - LANE / 2);
		else
			context.fillText(this.clipped(row.text, this.width - 8), 6, top + HEAD / 2 + 1);
		if (document.activeElement === context.canvas && this.rows[this.focus] === row) {
			context.strokeStyle = this.look.focus;
			context.lineWidth = 2;
			context.strokeRect(1, top + 1, this.gutter - 4, row.height - 2);
		}
	}

	// At most one span a pixel, whatever their number. Names of wide ones are drawn after the picture.
	paintSpans({ begin, end, name, hue }, top) {
		const { image32, from, to } = this, { width, height } = this.image, scale = this.plot / (to - from);
		const low = Math.max(top + 1, 0), high = Math.min(top + SPAN - 1, height);
		for (let i = firstAfter(end, from, 0, end.length); i < begin.length && begin[i] < to;) {
			const x = Math.max(Math.floor((begin[i] - from) * scale), 0), right = Math.max(Math.min(Math.round((end[i] - from) * scale), width), x + 1);
			const colour = this.spanColours[hue[i]], last = right - x > 3 ? right - 1 : right;
			for (let y = low; y < high; y++) {
				for (let at = y * width + x; at < y * width + last; at++)
					image32[at] = colour;
			}
			if (right - x > 30)
				this.names.push([name[i], x + this.gutter + 3, top + SPAN / 2 + 0.5, right - x - 5]);
			const next = from + right / scale;
			i = i + 1 < end.length && end[i + 1] > next ? i + 1 : firstAfter(end, next, i + 1, end.length);
		}
	}

	// The functions of what is wide enough.
	nameEvents(lane, top) {
		const { times } = this, least = 48 / this.plot * (this.to - this.from), taken = [];
		for (const { events, classes } of times.sources) {
			const last = events.first[lane.index + 1], i = firstAfter(events.reach, this.from, events.first[lane.index], last);
			if (firstAfter(events.begin, this.to + events.longest, i, last) - i > 300)
				continue;
			for (let at = i; at < last && events.lo[at] < this.to; at++) {
				const x = Math.max(this.x(events.lo[at]), this.gutter), right = Math.min(this.x(events.hi[at]), this.width);
				if (events.hi[at] - events.lo[at] < least || classes[events.sample[at]] < 0 || right - x < 30 ||
				    taken.some(([from, to]) => x < to && right > from))
					continue;
				taken.push([x, right]);
				this.names.push([shortName(this.stackOf(events, at)[0] || ''), x + 4, top + LANE / 2 + 0.5, right - x - 6]);
			}
		}
	}

	drawSelected(scrolled) {
		const chosen = this.selected, row = chosen && this.rowOf(chosen.lane.index), context = this.lanes;
		if (!row)
			return;
		const middle = one => one.top + one.height - GAP - LANE / 2 - scrolled, y = middle(row);
		const x = Math.max(this.x(chosen.begin), this.gutter), end = Math.min(this.x(chosen.end), this.width);
		context.strokeStyle = context.fillStyle = this.look.focus;
		context.lineWidth = 2;
		if (end > this.gutter && x < this.width)
			context.strokeRect(x, chosen.level === undefined ? y - LANE / 2 + 1 : row.top + chosen.level * SPAN + 1 - scrolled,
				Math.max(end - x, 3), chosen.level === undefined ? LANE - 2 : SPAN - 2);
		const waker = chosen.wake && this.rowOf(chosen.wake.waker);
		if (!waker || !(this.x(chosen.wake.when) > this.gutter))
			return;
		const to = middle(waker), at = this.x(chosen.wake.when), tip = to < y ? 6 : -6;
		context.beginPath();
		context.moveTo(this.x(chosen.end), y);
		context.lineTo(at, to);
		context.stroke();
		context.beginPath();
		context.moveTo(at, to);
		context.lineTo(at - 4, to + tip);
		context.lineTo(at + 4, to + tip);
		context.fill();
	}

	// All but the window is faded.
	drawWindow(context, height) {
		const window = this.drag && this.drag.to !== undefined ? { from: Math.min(this.drag.from, this.drag.to), to: Math.max(this.drag.from, this.drag.to) } : this.page.all.window;
		if (!window)
			return;
		const left = Math.min(Math.max(this.x(window.from), this.gutter), this.width), right = Math.min(Math.max(this.x(window.to), this.gutter), this.width);
		context.globalAlpha = 0.6;
		context.fillStyle = this.look.back;
		context.fillRect(this.gutter, 0, left - this.gutter, height);
		context.fillRect(right, 0, this.width - right, height);
		context.globalAlpha = 1;
		context.fillStyle = this.look.focus;
		context.fillRect(left - 1, 0, 1, height);
		context.fillRect(right, 0, 1, height);
	}

	refreshAxis() {
		const range = this.to - this.from, step = niceStep(range * AXIS_PIXELS / this.plot, 'nanoseconds'), marks = [];
		// Digits enough to tell two marks apart.
		const scale = SCALES.nanoseconds.reduce((best, one) => this.to >= one[1] ? one : best), digits = Math.max(0, Math.ceil(-Math.log10(step / scale[1]) - 1e-9));
		for (let at = Math.ceil(this.from / step) * step; at <= this.to && this.x(at) < this.width - AXIS_PIXELS / 2; at += step) {
			const mark = element('span', {}, `${(at / scale[1]).toFixed(digits)} ${scale[0]}`);
			mark.style.left = `${this.x(at)}px`;
			marks.push(mark);
		}
		byId('axis').style.width = '';
		byId('axis').replaceChildren(...marks);
		this.page.panels.axis = '';
	}

	// ---- below: CPUs, memory, and 20 ms after 20 ms of each second ----

	// [{ name, unit, lines: [{ when, value }] }], each value until the next one.
	curveList() {
		const { counters, heapInUse, length } = this.times, curves = [];
		const heap = heapInUse && { name: 'heap in use', points: Array.from(heapInUse, (value, i) => ({ when: i / 1024 * length, value })) };
		const memory = counters.length > 1 && { name: 'memory', points: counters.map(one => ({ when: one.when, value: one.resident })) };
		if (counters.length > 1)
			curves.push({ unit: '', lines: [{ name: 'CPUs', points: counters.slice(1).map((one, i) =>
				({ when: counters[i].when, value: Math.max(one.cpu - counters[i].cpu, 0) / Math.max(one.when - counters[i].when, 1) })) }] });
		if (memory || heap)
			curves.push({ unit: 'bytes', lines: [memory, heap].filter(Boolean) });
		return curves;
	}

	drawStrips() {
		const context = this.strips;
		context.fillStyle = this.look.back;
		context.fillRect(0, 0, this.width, this.stripsHeight);
		let top = 2;
		for (const curve of this.curves) {
			this.drawCurve(curve, top);
			top += this.curveHeight + GAP;
		}
		if (this.times.mostInBeat > 0 && this.beatPixels)
			this.drawBeats(top);
		this.drawWindow(context, this.stripsHeight);
	}

	drawCurve({ unit, lines }, top) {
		const context = this.strips, height = this.curveHeight;
		const most = Math.max(...lines.map(({ points }) => points.reduce((max, { value }) => Math.max(max, value), 0)));
		lines.forEach(({ name, points }, i) => {
			context.beginPath();
			const first = Math.max(firstAfter(points.map(one => one.when), this.from, 0, points.length) - 1, 0);
			context.moveTo(Math.max(this.x(points[first].when), this.gutter), top + height);
			for (let at = first; at < points.length && points[at].when <= this.to; at++) {
				const y = top + height - points[at].value / (most || 1) * (height - 2);
				context.lineTo(Math.max(this.x(points[at].when), this.gutter), y);
				context.lineTo(Math.max(Math.min(at + 1 < points.length ? this.x(points[at + 1].when) : this.x(this.times.length), this.width), this.gutter), y);
			}
			context.lineTo(Math.min(this.x(this.times.length), this.width), top + height);
			context.fillStyle = this.look.curve[i];
			context.fill();
			context.fillStyle = this.look.text;
			context.fillText(this.clipped(name, this.gutter - 10), 6, top + 8 + 14 * i);
		});
		context.fillStyle = this.look.faint;
		if (height > 30)
			context.fillText(unit ? valueText(most, unit) : most.toFixed(1), 6, top + height - 7);
	}

	// A column a second, 20 ms a row, the first at the top. Where seconds are narrower than pixels, the
	// mean of those of a pixel.
	drawBeats(top) {
		const { beats, seconds, mostInBeat } = this.times, context = this.strips, width = Math.ceil(this.plot);
		const image = new ImageData(width, BEATS * this.beatPixels), pixels = new Uint32Array(image.data.buffer).fill(this.back);
		const last = Math.min(Math.ceil(this.to / SECOND), seconds), place = second => Math.round(this.x(second * SECOND) - this.gutter);
		for (let second = Math.floor(this.from / SECOND), next; second < last; second = next) {
			const x = Math.max(place(second), 0);
			for (next = second + 1; next < last && place(next) <= x;)
				next++;
			const right = Math.min(place(next), width), gap = right - x > 4 ? 1 : 0;
			for (let row = 0; row < BEATS; row++) {
				let sum = 0;
				for (let at = second; at < next; at++)
					sum += beats[at * BEATS + row];
				const colour = this.beatColours[Math.ceil(sum / (next - second) / mostInBeat * 16)];
				// No fill(): most runs are of one pixel, and there are tens of thousands.
				for (let y = row * this.beatPixels; y < (row + 1) * this.beatPixels; y++) {
					for (let at = y * width + x, end = y * width + Math.max(right - gap, x + 1); at < end; at++)
						pixels[at] = colour;
				}
			}
		}
		this.put(context, this.beats, image, top);
		context.fillStyle = this.look.text;
		context.fillText(this.clipped('each second', this.gutter - 10), 6, top + 8);
		context.fillStyle = this.look.faint;
		context.fillText(this.clipped('rows of 20 ms', this.gutter - 10), 6, top + 22);
	}

	// ---- what is under a point ----

	hit(canvas, x, y) {
		const when = this.when(x), slack = 2 / this.plot * (this.to - this.from), strips = canvas === this.strips.canvas;
		const index = strips ? -1 : this.rowAt(y + byId('lanes-scroller').scrollTop), row = this.rows[index];
		if (!row || !row.lane || x < this.gutter)
			return { when, row, index, found: null };
		const inside = y + byId('lanes-scroller').scrollTop - row.top, level = Math.floor(inside / SPAN);
		const spans = inside < row.height - LANE - GAP ? row.lane.spans[level] : null;
		if (!spans)
			return { when, row, index, found: this.times.at(row.lane, when, 0) || this.times.at(row.lane, when, slack) };
		const i = firstAfter(spans.end, when - slack, 0, spans.end.length);
		return { when, row, index, found: i < spans.end.length && spans.begin[i] <= when + slack
			? { lane: row.lane, level, name: spans.name[i], begin: spans.begin[i], end: spans.end[i] } : null };
	}

	// Names, the innermost first.
	stackOf(events, i) {
		const { profile } = events, names = [], row = events.row[events.sample[i]];
		for (let at = row < 0 ? 0 : profile.rows.node[row]; at > 0 && names.length < 6; at = profile.parents[at])
			names.push(profile.frames[profile.nodes.mark[at] >>> 1].name);
		return names;
	}

	clock(when) {
		const date = new Date(this.times.startMs + when / 1e6);
		return Number.isNaN(date.getTime()) ? '' : `${date.toLocaleTimeString('en-GB')}.${String(date.getMilliseconds()).padStart(3, '0')}`;
	}

	// Lines of text about an event or a span.
	linesOf(found) {
		const { lane, events, index, kind } = found, ns = valueText(found.end - found.begin, 'nanoseconds');
		const when = `at ${secondsText(Math.round(found.begin / 1e3) * 1e3)} s (${this.clock(found.begin)})`;
		const thread = `${lane.name} ${lane.tid}`;
		if (!events)
			return [`${found.name}: ${ns}`, `span ${when}, on ${thread}`];
		const wait = this.times.kinds[kind] >= RUNNING, stack = this.stackOf(events, index);
		const lock = events.labelOf(index, 'lock'), lines = [`${wait ? WAIT_TEXT[WAITS[(this.times.kinds[kind] - RUNNING) % WAITS.length]] : 'runs'}: ${ns}`, `${when}, ${thread}`];
		if (lock)
			lines[0] += ` (${lock})`;
		const who = one => `${one.name} ${one.tid}`, { wake, holder } = found;
		if (holder)
			lines.splice(1, 0, `held longest by ${who(holder.lane)} in ${shortName(this.stackOf(holder.events, holder.index)[0] || '?')}`);
		if (wake)
			lines.splice(1, 0, `ended by ${who(this.times.lanes[wake.waker])}`);
		return [...lines, ...stack.map(shortName)];
	}

	describe() {
		if (this.selected)
			return this.linesOf(this.selected).join(' \u00b7 ');
		const row = this.rows[this.focus], { lanes, spans } = this.times, events = [...this.times.events.values()].reduce((sum, one) => sum + one.count, 0);
		if (document.activeElement === this.lanes.canvas && row)
			return row.lane ? `${row.lane.name} ${row.lane.tid}: runs ${valueText(row.lane.busy, 'nanoseconds')}` : row.text;
		return `${lanes.length} thread${lanes.length === 1 ? '' : 's'}, ${events.toLocaleString('en-US')} events, ${spans.length.toLocaleString('en-US')} span${spans.length === 1 ? '' : 's'} in ` +
			`${valueText(this.times.length, 'nanoseconds')}; drag to select, wheel to zoom${this.wakeHint}`;
	}

	select(found) {
		this.selected = found && found.events ? Object.assign(found, { wake: this.times.wakerOf(found), holder: this.times.holderOf(found) }) : found;
		// An arrow leads to a row.
		if (this.selected && this.selected.wake && !this.rowOf(this.selected.wake.waker))
			this.toggleIdle();
		this.page.panels.refreshStatus();
		this.page.redraw();
	}

	// Colours that occur, for the legend.
	legend() {
		const seen = new Map();
		for (const kind of this.times.kinds) {
			const text = kind < RUNNING ? KINDS.find(one => one.kind === Math.floor(kind / HUES)).text : WAIT_TEXT[WAITS[(kind - RUNNING) % WAITS.length]];
			if (!seen.has(text))
				seen.set(text, this.colourOf(kind));
		}
		return [...seen];
	}

	// ---- keys and buttons ----

	toggleIdle() {
		this.unfolded = !this.unfolded;
		this.orderRows();
		this.width = 0;
		this.page.redraw();
	}

	moveFocus(by) {
		this.focus = Math.max(0, Math.min(this.focus + by, this.rows.length - 1));
		this.reveal();
		this.select(null);
	}

	reveal() {
		const row = this.rows[this.focus], scroller = byId('lanes-scroller');
		scroller.scrollTop = Math.min(Math.max(scroller.scrollTop, row.top + row.height - this.height), row.top);
	}

	// Selects a span in time, and its thread.
	chooseSpan(span) {
		if (!this.rowOf(span.lane.index))
			this.toggleIdle();
		this.focus = this.rows.indexOf(this.rowOf(span.lane.index));
		this.select(span);
		this.chooseSelected();
		this.zoomToWindow();
		this.measure(); // the graph below may be new
		this.reveal();
	}

	// The next or previous event of the lane that is in focus.
	moveEvent(by) {
		const { lane } = this.rows[this.focus] || {}, now = this.selected && this.selected.events && this.selected.lane === lane ? this.selected : null;
		let best = null;
		for (const source of lane ? this.times.sources : []) {
			const { events, classes } = source, first = events.first[lane.index], last = events.first[lane.index + 1];
			let i = now && now.events === events ? now.index + by
				: firstAfter(events.begin, now ? now.events.begin[now.index] : this.from, first, last) - (by < 0 ? 1 : 0);
			while (i >= first && i < last && classes[events.sample[i]] < 0)
				i += by;
			if (i >= first && i < last && (!best || (events.begin[i] - best.events.begin[best.index]) * by < 0))
				best = this.times.found(source, lane, i);
		}
		if (!best)
			return;
		this.select(best);
		if (best.end < this.from || best.begin > this.to)
			this.show((best.begin + best.end - this.to + this.from) / 2, (best.begin + best.end + this.to - this.from) / 2);
	}

	zoomToWindow() {
		const { window } = this.page.all;
		if (window)
			this.show(window.from - (window.to - window.from) * 0.05, window.to + (window.to - window.from) * 0.05);
	}

	// Times as exact as pixels are.
	choose(from, to) {
		const grain = 10 ** Math.floor(Math.log10(Math.max((this.to - this.from) / this.plot, 1)));
		const low = Math.round(Math.max(from, 0) / grain) * grain;
		this.page.setWindow({ from: low, to: Math.max(Math.round(Math.min(to, this.times.length) / grain) * grain, low + grain) });
	}

	chooseSelected() { this.page.setWindow({ from: this.selected.begin, to: Math.max(this.selected.end, this.selected.begin + 1) }); }

	// Returns whether the key was for the timeline.
	key(event) {
		const row = this.rows[this.focus], focused = event.target === this.lanes.canvas, middle = this.gutter + this.plot / 2;
		const onLanes = {
			ArrowUp: () => this.moveFocus(-1), ArrowDown: () => this.moveFocus(1),
			ArrowLeft: () => event.shiftKey ? this.pan(-KEY_PAN) : this.moveEvent(-1),
			ArrowRight: () => event.shiftKey ? this.pan(KEY_PAN) : this.moveEvent(1),
			Enter: () => this.selected ? this.chooseSelected() : row && row.fold ? this.toggleIdle() : null,
		};
		const anywhere = {
			'+': () => this.zoom(middle, KEY_ZOOM), '=': () => this.zoom(middle, KEY_ZOOM), '-': () => this.zoom(middle, 1 / KEY_ZOOM),
			0: () => this.show(0, this.times.length), Home: () => this.show(0, this.times.length), z: () => this.zoomToWindow(),
			Escape: () => this.selected ? this.select(null) : this.page.all.window ? this.page.setWindow(null) : this.show(0, this.times.length),
		};
		const action = (focused && onLanes[event.key]) || anywhere[event.key];
		if (action)
			action();
		return Boolean(action);
	}
}
