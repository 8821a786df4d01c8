// SPDX-License-Identifier: BSD-3-Clause
// When it happened: the events, spans and threads of all tabs on one axis, in nanoseconds since the
// first profile began. It is decoded when it is first needed. Nothing here knows of the screen. The
// format is written by tools/flame/flame_times.c.
'use strict';

// What a thread does, as classes of colours. First the code that runs, by kind and hue of its
// module, then these; those of wall profiles, which are less exact, come once more.
const HUES = 8, RUNNING = KIND_LIBRARY * HUES + HUES;
const WAITS = ['ready', 'lock', 'thread', 'disk', 'network', 'idle', 'other'];
const LOOKED_AT = RUNNING + WAITS.length;
const WAIT_OF = {
	lock: 'lock', mutex: 'lock', rwlock: 'lock', condition: 'thread', semaphore: 'thread', barrier: 'thread', thread: 'thread', child: 'thread',
	disk: 'disk', file: 'disk', network: 'network', tcp: 'network', udp: 'network', unix: 'network', socket: 'network', pipe: 'network',
	poll: 'idle', epoll: 'idle', sleep: 'idle', timer: 'idle', terminal: 'idle', signal: 'idle',
};
const FINEST = 14, MOST_CELLS = 1 << 20; // the finest bins: 2^14 of the axis, fewer for many lanes
const MOST_LEVELS = 6, SPAN_HUES = 12;
const SECOND = 1e9, BEAT = 2e7, BEATS = SECOND / BEAT;

// The first of the numbers list[low .. high) that is greater than WHAT.
function firstAfter(list, what, low, high) {
	while (low < high) {
		const middle = (low + high) >> 1;
		if (list[middle] > what)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

// A tab's events, by lane and then by time. One lasts from lo to hi, and began at `begin`.
class Events {
	constructor(raw, profile, laneCount) {
		const [samples, count, wakes] = raw.counts;
		Object.assign(this, { profile, count, main: raw.main, thinning: raw.thinning, end: raw.end, moments: raw.moments });
		this.begin = new Float64Array(count);
		this.lo = new Float64Array(count);
		this.hi = new Float64Array(count);
		this.reach = new Float64Array(count); // the latest end in this lane up to here
		this.weight = new Float64Array(count);
		this.number = new Float64Array(count);
		this.sample = new Int32Array(count);
		this.death = new Uint8Array(count);
		this.first = new Int32Array(laneCount + 1);
		this.decode(new NumberReader(raw.events), laneCount);
		this.decodeSamples(new NumberReader(raw.samples), samples);
		this.decodeWakes(new NumberReader(raw.wakes), wakes);
		raw.events = raw.samples = raw.wakes = null;
		this.sumUp(samples);
	}

	decode(reader, laneCount) {
		let i = 0;
		this.longest = 0; // how long before `begin` an event may be seen
		for (let lane = 0; lane < laneCount; lane++) {
			let at = 0, weight = 0, reach = 0;
			this.first[lane] = i;
			for (let left = reader.next(); left > 0 && i < this.count; left--, i++) {
				at += reader.next();
				const head = reader.next(), duration = head & 1 ? reader.next() : 0;
				weight = head & 2 ? reader.next() : weight;
				this.number[i] = head & 4 ? reader.next() : 1;
				this.sample[i] = head >>> 4;
				this.death[i] = head & 8;
				this.weight[i] = weight;
				this.begin[i] = at;
				// CPU time was used before its sample.
				this.lo[i] = duration ? at : Math.max(at - weight * this.thinning, 0);
				this.hi[i] = at + duration;
				this.longest = duration ? this.longest : Math.max(this.longest, at - this.lo[i]);
				this.reach[i] = reach = Math.max(reach, at + duration);
			}
		}
		this.first[laneCount] = i;
	}

	decodeSamples(reader, count) {
		this.row = new Int32Array(count).fill(-1);
		this.idle = new Uint8Array(count); // it waits for something to do
		this.recorded = new Float64Array(count);
		this.values = this.profile.types.map(() => new Float64Array(count));
		for (let i = 0; i < count; i++) {
			const packed = reader.next();
			this.row[i] = Math.floor(packed / 2) - 1;
			this.idle[i] = packed % 2;
			this.recorded[i] = reader.next();
			for (let type = 0; this.row[i] >= 0 && type < this.values.length; type++)
				this.values[type][i] = reader.next();
		}
	}

	decodeWakes(reader, count) {
		let at = 0;
		this.wakes = [];
		for (let i = 0; i < count; i++) {
			at += reader.next();
			this.wakes.push({ when: at, woken: reader.next(), waker: reader.next() });
		}
	}

	// Weights, counts and durations of the births of each sample. Which of them measures a value, and
	// how a value follows from them, is as in tools/core/times_filter.c.
	sumUp(samples) {
		this.all = [0, 1, 2].map(() => new Float64Array(samples));
		for (let i = 0; i < this.count; i++) {
			if (!this.death[i]) {
				for (let m = 0; m < 3; m++)
					this.all[m][this.sample[i]] += this.measured(m, i);
			}
		}
	}

	measured(m, i) { return m === 0 ? this.weight[i] : m === 1 ? this.number[i] : this.hi[i] - this.begin[i]; }

	measureOf(type, sample) {
		const { unit } = this.profile.types[type], main = this.profile.types[this.main].unit;
		const m = type === this.main ? 0 : unit === 'count' ? 1 : unit === 'nanoseconds' && main !== unit ? 2 : 0;
		return [m, 0, 1].find(one => this.all[one][sample] > 0) ?? 1;
	}

	before(i, when) {
		const { begin, hi } = this;
		return when <= begin[i] ? 0 : when >= hi[i] ? 1 : (when - begin[i]) / (hi[i] - begin[i]);
	}

	// The rows' values of a type between two times. Of memory in use it is what is at the end.
	valuesIn(type, from, to) {
		const samples = this.row.length, sums = new Float64Array(this.profile.rows.count), last = to >= this.end;
		const measure = new Uint8Array(samples), until = new Float64Array(samples), earlier = new Float64Array(samples);
		const bornAfter = new Float64Array(samples), moment = this.moments[type];
		for (let i = 0; i < samples; i++)
			measure[i] = this.measureOf(type, i);
		for (let i = 0; i < this.count; i++) {
			const s = this.sample[i], amount = this.measured(measure[s], i);
			if (!last && this.begin[i] >= to)
				bornAfter[s] += this.death[i] ? -amount : amount;
			if (!this.death[i]) {
				until[s] += last ? amount : amount * this.before(i, to);
				earlier[s] += amount * this.before(i, from);
			}
		}
		for (let i = 0; i < samples; i++) {
			const row = this.row[i], all = this.all[measure[i]][i];
			if (row < 0)
				continue;
			const timed = this.recorded[i] ? this.all[0][i] * this.thinning / this.recorded[i] : all > 0 ? 1 : 0;
			if (moment)
				sums[row] += this.atEnd(type, i, last, timed, all > 0 ? bornAfter[i] / all : 0);
			else if (all > 0)
				sums[row] += Math.round(this.values[type][i] * timed * (until[i] / all)) - Math.round(this.values[type][i] * timed * (earlier[i] / all));
		}
		if (moment)
			this.settle(sums);
		return sums;
	}

	// A stack's blocks in use are in rows by their ages at the run's end, and what was allocated later is taken from the
	// row of its allocations, which then owes the others of the stack.
	settle(sums) {
		const { node } = this.profile.rows, debts = new Map();
		sums.forEach((sum, row) => {
			if (sum < 0)
				debts.set(node[row], (debts.get(node[row]) ?? 0) - sum);
		});
		sums.forEach((sum, row) => {
			const paid = Math.min(Math.max(sum, 0), debts.get(node[row]) ?? 0);
			debts.set(node[row], (debts.get(node[row]) ?? 0) - paid);
			sums[row] = Math.max(sum - paid, 0);
		});
	}

	atEnd(type, sample, last, timed, bornAfter) {
		const { types } = this.profile;
		const born = types.findIndex((one, i) => one.unit === types[type].unit && !this.moments[i]);
		if (last)
			return this.values[type][sample];
		if (born < 0 || !types[type].name.startsWith('inuse_'))
			return 0; // known at the end of the run only
		return Math.round(this.values[type][sample] - this.values[born][sample] * timed * bornAfter);
	}

	// A label of event I, or undefined.
	labelOf(i, key) {
		const labels = this.profile.labelSets[this.profile.rows.labels[this.row[this.sample[i]]]] || [];
		const at = labels.findIndex((text, k) => k % 2 === 0 && text === key);
		return at < 0 ? undefined : labels[at + 1];
	}

	// By sample: its class, or -1 where it says nothing of its thread. ROLE: what kind of profile it is.
	classesFor(role) {
		const { mark } = this.profile.nodes, { rows, frames, labelSets } = this.profile;
		return Int32Array.from(this.row, (row, sample) => {
			if (row < 0 || !(this.all[1][sample] > 0))
				return -1;
			const labels = labelSets[rows.labels[row]], label = key => labels[labels.indexOf(key) + 1];
			const has = key => labels.some((text, i) => i % 2 === 0 && text === key);
			const state = has('state') ? label('state') : has('wait') ? 'waiting' : 'running', looked = role === 'wall';
			if (role === 'locks' || role === 'io' || state !== 'running') {
				const cause = has('wait') ? label('wait') : has('kind') ? label('kind') : role === 'locks' ? 'lock' : '';
				const wait = this.idle[sample] ? 'idle' : state === 'runnable' ? 'ready' : Object.hasOwn(WAIT_OF, cause) ? WAIT_OF[cause] : role === 'io' ? 'disk' : 'other';
				return (looked ? LOOKED_AT : RUNNING) + WAITS.indexOf(wait);
			}
			const frame = frames[mark[rows.node[row]] >>> 1];
			return frame ? frame.kind * HUES + Math.floor(hashed(frame.module) * HUES) : KIND_MARK * HUES;
		});
	}
}

// The kind of a profile by its types; the first that it has decides. Of the others (holders, wakers, the
// peak) no event says what a thread did.
const ROLES = { cpu: 'cpu', wall: 'wall', errors: 'io', contentions: 'locks', inuse_space: 'heap' };

function roleOf(profile) {
	const type = Object.keys(ROLES).find(name => profile.types.some(one => one.name === name));
	return type ? ROLES[type] : profile.types.some(({ name }) => ['waits', 'blocking', 'peak_space', 'inuse_mapped'].includes(name)) ? 'none' : 'event';
}

// The lanes, and what is drawn in them.
class Times {
	constructor(raw, tabs, strings) {
		this.length = Math.max(raw.length, 1);
		this.startMs = raw.startMs;
		this.sources = []; // { events, classes }: what the lanes show
		this.lanes = raw.lanes.map(([name, tid, process, begin, end], index) =>
			({ index, name: strings[name], tid, process, begin, end, spans: [], busy: 0, active: 0 }));
		this.events = new Map();
		for (const tab of tabs) {
			if (tab.raw.times)
				this.events.set(tab, new Events(tab.raw.times, tab, this.lanes.length));
		}
		this.decodeSpans(new NumberReader(raw.spans), strings);
		this.counters = [];
		for (const reader = new NumberReader(raw.counters), { length } = reader.bytes; reader.at < length;) {
			const last = this.counters[this.counters.length - 1];
			this.counters.push({ when: reader.next() + (last ? last.when : 0), resident: reader.next(), cpu: reader.next() });
		}
		this.chooseSources();
		this.makeLevels();
		this.makeBeats();
		this.sumHeap();
	}

	// Spans that overlap stand on levels of their own, the outer one first. `spans` has all of them.
	decodeSpans(reader, strings) {
		const hues = new Map();
		this.spans = [];
		for (const lane of this.lanes) {
			let at = 0;
			for (let left = reader.next(); left > 0; left--) {
				at += reader.next();
				const end = at + reader.next(), name = strings[reader.next()], weight = reader.next();
				let level = 0;
				while (level < lane.spans.length && lane.spans[level].end[lane.spans[level].end.length - 1] > at)
					level++;
				this.spans.push({ lane, level, name, begin: at, end, weight });
				if (level >= MOST_LEVELS)
					continue;
				lane.spans[level] = lane.spans[level] || { begin: [], end: [], name: [], hue: [] };
				lane.spans[level].begin.push(at);
				lane.spans[level].end.push(end);
				lane.spans[level].name.push(name);
				if (!hues.has(name))
					hues.set(name, Math.floor(hashed(name) * SPAN_HUES));
				lane.spans[level].hue.push(hues.get(name));
			}
		}
	}

	// Running code is from the CPU profile if there is one, and waits from locks and I/O before a wall
	// profile's.
	chooseSources() {
		const roles = new Map([...this.events.keys()].map(tab => [roleOf(tab), tab]));
		for (const [role, tab] of roles) {
			if (role === 'heap' || role === 'none' || (role === 'event' && (roles.has('cpu') || roles.has('wall'))))
				continue;
			const events = this.events.get(tab), classes = events.classesFor(role);
			if (role === 'wall' && roles.has('cpu'))
				classes.forEach((one, i) => { classes[i] = one < RUNNING ? -1 : one; });
			this.sources.push({ role, events, classes, running: role !== 'locks' && role !== 'io' });
		}
		this.sources.sort((a, b) => (a.role === 'wall') - (b.role === 'wall'));
		this.heap = this.events.get(roles.get('heap'));
		// From now on a kind is an index of the classes that occur: first those that run, then exact waits.
		const occur = new Set(this.sources.flatMap(({ classes }) => [...new Set(classes)]));
		this.kinds = [...occur].filter(one => one >= 0).sort((a, b) => a - b);
		this.runningKinds = this.kinds.filter(one => one < RUNNING).length;
		this.exactKinds = this.kinds.filter(one => one < LOOKED_AT).length;
		for (const { classes } of this.sources)
			classes.forEach((one, i) => { classes[i] = this.kinds.indexOf(one); });
	}

	// Each lane at several resolutions: of bin after bin the classes that occur, and for how long.
	makeLevels() {
		this.finest = FINEST;
		while (this.finest > 8 && this.lanes.length << this.finest > MOST_CELLS)
			this.finest--;
		for (const lane of this.lanes) {
			let cells = new Float32Array(this.kinds.length << this.finest);
			for (const source of this.sources)
				this.fillCells(cells, source, lane.index);
			lane.levels = [];
			for (let level = this.finest; level >= 8; level--) {
				lane.levels[level] = compressed(cells, this.kinds.length);
				cells = halved(cells, this.kinds.length);
			}
			const { kind, amount } = lane.levels[8];
			const total = passes => kind.reduce((sum, one, i) => sum + (passes(one) ? amount[i] : 0), 0);
			lane.busy = total(one => one < this.runningKinds);
			lane.active = total(one => one < this.exactKinds && this.kinds[one] !== RUNNING + WAITS.indexOf('idle'));
		}
	}

	fillCells(cells, { events, classes }, lane) {
		const scale = (1 << this.finest) / this.length, most = (1 << this.finest) - 1;
		const { lo, hi, sample, thinning } = events;
		for (let i = events.first[lane]; i < events.first[lane + 1]; i++) {
			const kind = classes[sample[i]];
			if (kind < 0)
				continue;
			// Of a thinned event that is no wait, LO says already for how long it stands.
			const times = hi[i] > events.begin[i] ? thinning : 1, from = lo[i] * scale, to = Math.max(hi[i] * scale, from);
			const last = Math.min(Math.floor(to), most);
			for (let bin = Math.min(Math.floor(from), most); bin <= last; bin++)
				cells[bin * this.kinds.length + kind] += times * (Math.min(to, bin + 1) - Math.max(from, bin)) / scale;
		}
	}

	// How much ran in each 20 ms of each second; without CPU times, what was recorded.
	makeBeats() {
		const runs = this.sources.filter(source => source.running);
		this.seconds = Math.min(Math.ceil(this.length / SECOND), 1e5);
		this.beats = new Float32Array(this.seconds * BEATS);
		for (const { events, classes } of runs.length ? runs : [...this.events.values()].map(one => ({ events: one, classes: null }))) {
			for (let i = 0; i < events.count; i++) {
				const beat = Math.floor(events.begin[i] / BEAT);
				if (beat < this.beats.length && (!classes || (classes[events.sample[i]] >= 0 && classes[events.sample[i]] < this.runningKinds)))
					this.beats[beat] += events.weight[i];
			}
		}
		this.mostInBeat = this.beats.reduce((most, one) => Math.max(most, one), 0);
	}

	// Heap memory in use at the end of each of 1,024 parts of the axis.
	sumHeap() {
		if (!this.heap)
			return;
		const parts = this.heapInUse = new Float64Array(1024), { begin, weight, death, thinning } = this.heap;
		for (let i = 0; i < this.heap.count; i++)
			parts[Math.min(Math.floor(begin[i] / this.length * 1024), 1023)] += (death[i] ? -1 : 1) * weight[i] * thinning;
		for (let i = 1; i < 1024; i++)
			parts[i] += parts[i - 1];
	}

	// Adds, by pixel and class, the share of the time that the lane spent so.
	fill(pixels, lane, from, to, width) {
		const scale = width / (to - from), level = Math.ceil(Math.log2(1.5 * width * this.length / (to - from)));
		if (level > this.finest)
			return this.fillExactly(pixels, lane, from, to, scale, width);
		const { bin, kind, amount } = lane.levels[Math.max(level, 8)], size = this.length / (1 << Math.max(level, 8));
		const last = firstAfter(bin, Math.floor(to / size), 0, bin.length);
		for (let i = firstAfter(bin, Math.floor(from / size) - 1, 0, bin.length); i < last; i++)
			spread(pixels, (bin[i] * size - from) * scale, ((bin[i] + 1) * size - from) * scale, kind[i], amount[i] / size, width, this.kinds.length);
		return undefined;
	}

	fillExactly(pixels, lane, from, to, scale, width) {
		for (const { events, classes } of this.sources) {
			const { lo, hi, sample, reach } = events, end = events.first[lane.index + 1];
			const last = firstAfter(events.begin, to + events.longest, events.first[lane.index], end);
			for (let i = firstAfter(reach, from, events.first[lane.index], end); i < last; i++) {
				if (classes[sample[i]] >= 0 && hi[i] > from && lo[i] < to)
					spread(pixels, (lo[i] - from) * scale, (hi[i] - from) * scale, classes[sample[i]], 1, width, this.kinds.length);
			}
		}
	}

	// The event that is drawn at a time, or null: the shortest of those there.
	at(lane, when, slack) {
		let best = null;
		for (const source of this.sources) {
			const { events, classes } = source, { lo, hi } = events, end = events.first[lane.index + 1];
			const last = firstAfter(events.begin, when + slack + events.longest, events.first[lane.index], end);
			for (let i = firstAfter(events.reach, when - slack, events.first[lane.index], end); i < last; i++) {
				if (classes[events.sample[i]] >= 0 && lo[i] <= when + slack && hi[i] >= when - slack && (!best || hi[i] - lo[i] < best.end - best.begin))
					best = this.found(source, lane, i);
			}
		}
		return best;
	}

	found({ events, classes }, lane, i) {
		return { lane, events, index: i, begin: events.lo[i], end: events.hi[i], kind: classes[events.sample[i]] };
	}

	// Who held the lock of this wait for the longest part of it, by the profile of holders: { lane, events,
	// index }, or null.
	holderOf({ events, index, begin, end }) {
		const lockOf = (from, i) => from.labelOf(i, 'lock'), lock = lockOf(events, index), sums = new Map();
		let best = null;
		for (const [tab, holders] of this.events) {
			if (!lock || !tab.types.some(type => type.name === 'blocking'))
				continue;
			for (const lane of this.lanes) {
				const last = firstAfter(holders.begin, end, holders.first[lane.index], holders.first[lane.index + 1]);
				for (let i = firstAfter(holders.reach, begin, holders.first[lane.index], last); i < last; i++) {
					const key = `${lane.index} ${holders.sample[i]}`, held = Math.min(holders.hi[i], end) - Math.max(holders.lo[i], begin);
					if (!(held > 0) || lockOf(holders, i) !== lock)
						continue;
					const sum = (sums.get(key) || 0) + held;
					sums.set(key, sum);
					best = !best || sum > best.sum ? { lane, events: holders, index: i, sum } : best;
				}
			}
		}
		return best;
	}

	// Who ended this wait: the wake-up of the thread that is nearest to the wait's end.
	wakerOf({ lane, begin, end }) {
		const late = Math.max((end - begin) / 10, 1e6);
		let best = null;
		for (const { wakes } of this.events.values()) {
			for (const wake of wakes) {
				if (wake.woken === lane.index && wake.when > begin && wake.when <= end + late &&
				    (!best || Math.abs(wake.when - end) < Math.abs(best.when - end)))
					best = wake;
			}
		}
		return best;
	}
}

// Adds DENSITY to the pixels from X to END, in parts where it ends inside of one.
function spread(pixels, x, end, kind, density, width, kinds) {
	const from = Math.max(x, 0), to = Math.min(Math.max(end, x + 0.2), width);
	for (let at = Math.floor(from); at < to; at++)
		pixels[at * kinds + kind] += density * (Math.min(to, at + 1) - Math.max(from, at));
}

const QUANTILES = [0.5, 0.99, 0.999];

// By name, those with the largest sum first: { name, count, quantiles, slowest } of the spans that began
// in WINDOW, or null for all. Short spans stand for others, which were not recorded: their weight. As
// `cprof spans`.
function spanTable(spans, window) {
	const names = new Map();
	for (const span of spans) {
		if (window && (span.begin < window.from || span.begin >= window.to))
			continue;
		(names.get(span.name) || names.set(span.name, []).get(span.name)).push(span);
	}
	return [...names].map(([name, all]) => {
		all.sort((a, b) => (a.end - a.begin) - (b.end - b.begin));
		const count = all.reduce((sum, { weight }) => sum + weight, 0), quantile = share => {
			let i = 0;
			for (let sum = all[0].weight; i + 1 < all.length && sum < share * count; sum += all[i].weight)
				i++;
			return all[i].end - all[i].begin;
		};
		return { name, count, quantiles: QUANTILES.map(quantile), slowest: all[all.length - 1],
			sum: all.reduce((sum, { begin, end, weight }) => sum + (end - begin) * weight, 0) };
	}).sort((a, b) => b.sum - a.sum);
}

function compressed(cells, kinds) {
	let count = 0;
	for (let i = 0; i < cells.length; i++)
		count += cells[i] > 0 ? 1 : 0;
	const made = { bin: new Int32Array(count), kind: new Uint8Array(count), amount: new Float32Array(count) };
	for (let i = 0, at = 0; at < count; i++) {
		if (cells[i] > 0) {
			made.bin[at] = i / kinds;
			made.kind[at] = i % kinds;
			made.amount[at++] = cells[i];
		}
	}
	return made;
}

function halved(cells, kinds) {
	const half = new Float32Array(cells.length / 2);
	for (let i = 0; i < cells.length; i++) {
		if (cells[i] > 0)
			half[Math.floor(Math.floor(i / kinds) / 2) * kinds + i % kinds] += cells[i];
	}
	return half;
}
