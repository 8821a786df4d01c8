// SPDX-License-Identifier: BSD-3-Clause
// Everything around the canvas: heading, choices, path, tooltip, status, table, legend. Text from
// the profile goes in as text nodes only.
'use strict';

const TABLE_ROWS = 300, TIP_ROWS = 3, TIP_FRAMES = 24;
const AXIS_PIXELS = 110; // the least distance of two marks
const byId = id => document.getElementById(id);

function element(tag, attributes, ...children) {
	const made = document.createElement(tag);
	for (const [name, value] of Object.entries(attributes || {}))
		made.setAttribute(name, value);
	made.append(...children);
	return made;
}

class Panels {
	constructor(page) {
		this.page = page;
		this.sortBy = 'own'; // as cprof top begins
		this.spansShown = false;
		byId('title').textContent = page.all.title;
		byId('tabs').replaceChildren(...page.all.tabs.map((tab, i) => element('button',
			{ type: 'button', role: 'tab', 'data-index': i, id: `tab-${i}`, 'aria-controls': 'scroller', title: tab.info[0][1] }, tab.name)));
		if (page.all.hasTimes)
			byId('tabs').append(element('button', { type: 'button', role: 'tab', 'data-index': page.all.tabs.length, id: 'tab-time',
				'aria-controls': 'time', title: 'When it happened' }, TIME));
		byId('tabs').hidden = byId('tabs').children.length < 2;
		byId('below-tab').replaceChildren(...page.all.tabs.map((tab, i) => element('option', { value: i }, tab.name)));
	}

	refresh() {
		this.refreshTabs();
		this.refreshFilters();
		this.refreshPath();
		this.refreshFound();
		this.refreshStatus();
		this.refreshLook();
		this.refreshNotes();
		this.refreshSource();
	}

	refreshTabs() {
		const { page } = this, { profile } = page;
		for (const tab of byId('tabs').children) {
			const shown = Number(tab.dataset.index) === page.tabIndex;
			tab.setAttribute('aria-selected', shown);
			tab.tabIndex = shown ? 0 : -1;
		}
		byId('type').replaceChildren(...profile.types.map((type, i) => element('option', { value: i }, typeText(type))));
		byId('type').value = page.type;
		document.body.classList.toggle('timed', page.timeShown);
		byId('time').hidden = byId('time-tools').hidden = !page.timeShown;
		byId('scroller').hidden = !page.graphShown;
		document.body.classList.toggle('split', page.timeShown && page.graphShown);
		byId('below').hidden = !page.timeShown || !page.graphShown;
		byId('below-tab').value = profile.index;
		this.refreshSpans();
		byId('type-choice').hidden = profile.types.length < 2;
		byId('compare').value = page.shares ? 'shares' : 'values';
		byId('width').value = page.widthOfBase ? 'base' : 'new';
		byId('compare-choice').hidden = byId('width-choice').hidden = !profile.differential;
	}

	refreshLook() {
		const { page } = this;
		document.documentElement.dataset.theme = page.darkNow() ? 'dark' : 'light';
		byId('theme').textContent = `Theme: ${page.theme}`;
		for (const [id, on] of [['callers', page.callers && page.sandwich < 0], ['sandwich', page.sandwich >= 0], ['runtime', page.unfolded], ['icicle', !page.canvas.upwards], ['flame', page.canvas.upwards]])
			byId(id).setAttribute('aria-pressed', on);
		byId('runtime').hidden = page.starts.size === 0;
		this.refreshLegend();
	}

	// ---- what the profile says about itself ----

	refreshNotes() {
		const { page } = this, { profile } = page, { losses, cost, hints } = notesOf(profile, page.self, page.sums.whole);
		const facts = profile.info.map(([name, value]) => `${name}: ${value}`);
		// Of paths the names; the whole is among the details.
		byId('summary').textContent = [...facts, cost].filter(Boolean).join(' \u00b7 ').replace(/(^|: |, )\/[^,\u00b7]*\//g, '$1');
		byId('summary').title = [...facts, cost].filter(Boolean).join('\n');
		byId('notes').replaceChildren(
			...losses.map(text => element('li', { class: 'loss' }, `Lost: ${text}`)),
			...hints.map(text => element('li', { class: 'hint' }, text)));
		byId('facts').replaceChildren(...facts.concat(profile.comments).map(text => element('li', {}, text)));
	}

	refreshFilters() {
		const { page } = this, list = byId('filter');
		const totals = labelTotals(page.profile, page.type), whole = page.sums.whole;
		list.replaceChildren(element('option', { value: '' }, page.filters.length ? 'add a filter\u2026' : 'all samples'));
		this.filterChoices = [];
		for (const { key, values } of totals) {
			const group = element('optgroup', { label: key });
			for (const { value, total } of values) {
				const share = page.filters.length ? valueText(total, page.unit) : shareText(total, whole);
				group.append(element('option', { value: this.filterChoices.length }, `${key}: ${value} (${share})`));
				this.filterChoices.push({ key, value });
			}
			list.append(group);
		}
		byId('filter-choice').hidden = totals.length === 0;
		byId('chips').replaceChildren(...page.filters.map((filter, i) => element('li', {},
			element('button', { type: 'button', 'data-index': i, 'aria-label': `Remove the filter ${filter.key}: ${filter.value}` },
				`${filter.key}: ${filter.value} \u00d7`))), ...this.windowChip());
	}

	// The window of time: its place, its length and its shares of the run and of the value.
	windowChip() {
		const { page } = this, { window } = page.all;
		byId('zoom-window').disabled = byId('clear-window').disabled = !window;
		if (!window)
			return [];
		const { from, to } = window, known = page.all.times.events.has(page.profile), { length } = page.all.times;
		const whole = page.profile.rows.values[page.type].reduce((sum, value, i) => sum + (page.profile.rows.side[i] ? 0 : value), 0);
		const part = page.profile.valuesOf(page.type).reduce((sum, value) => sum + value, 0);
		const share = known ? `${shareText(part, whole) || '0 %'} of ${typeText(page.profile.types[page.type])}` : `no times are known of ${page.profile.name}: all of it`;
		const text = `${secondsText(from)} s to ${secondsText(to)} s: ${valueText(to - from, 'nanoseconds')}, ${shareText(to - from, length)} of the run; ${share}`;
		return [element('li', { id: 'window' }, element('button', { type: 'button', 'aria-label': `Remove the window of time: ${text}`,
			title: `cprof top -from=${secondsText(from)} -to=${secondsText(to)}` }, `${text} \u00d7`))];
	}

	// The ruler says how much a width is: the x axis has no time.
	refreshAxis() {
		const { from, to, unit, canvas } = this.page, range = to - from;
		const key = [range, unit, canvas.width].join(' ');
		if (key === this.axis)
			return;
		this.axis = key;
		byId('axis').style.width = `${canvas.width}px`;
		const marks = [], step = range > 0 ? niceStep(range * AXIS_PIXELS / canvas.width, unit) : 0;
		for (let at = 0; step > 0 && at <= range && (at / range) * canvas.width < canvas.width - AXIS_PIXELS / 2; at += step) {
			const mark = element('span', {}, at === 0 ? '0' : valueText(at, unit));
			mark.style.left = `${at / range * canvas.width}px`;
			marks.push(mark);
		}
		byId('axis').replaceChildren(...marks);
	}

	refreshPath() {
		const { page } = this, parts = [];
		for (let at = page.zoomed; at > 0; at = page.tree.parent(at))
			parts.unshift(at);
		const path = byId('path');
		path.replaceChildren();
		if (page.sandwich >= 0) {
			const { name } = page.profile.frames[page.sandwich];
			path.append(element('button', { type: 'button', class: 'back', title: 'Esc' }, '\u2039 Back to all functions'),
				element('span', { 'aria-current': 'location', title: name }, shortName(name)),
				element('span', { class: 'gap' }, `callers ${page.canvas.upwards ? 'below' : 'above'}, callees ${page.canvas.upwards ? 'above' : 'below'}`));
			return;
		}
		if (parts.length === 0)
			return;
		// Of a long path its ends.
		const shownParts = parts.length > 12 ? [...parts.slice(0, 4), -1, ...parts.slice(-7)] : parts;
		for (const node of [0, ...shownParts]) {
			if (node < 0) {
				path.append(element('span', { class: 'gap' }, '\u2026 \u203a'));
			} else if (node === page.zoomed) {
				path.append(element('span', { 'aria-current': 'location', title: page.nameOf(node) }, page.shortNameOf(node)));
			} else {
				path.append(element('button', { type: 'button', 'data-node': node, title: page.nameOf(node) }, page.shortNameOf(node)),
					element('span', { class: 'gap', 'aria-hidden': 'true' }, '\u203a'));
			}
		}
		path.scrollTop = path.scrollHeight;
	}

	refreshFound() {
		const { page } = this;
		const field = byId('search');
		if (field.value !== page.query)
			field.value = page.query;
		field.setAttribute('aria-invalid', page.invalid !== '');
		byId('found').textContent = page.invalid && `Invalid expression: ${page.invalid}`;
		byId('found').className = page.invalid ? 'invalid' : '';
		if (page.matches) {
			const { present } = page.profile;
			const functions = page.matches.reduce((sum, one, i) => sum + (one & present[i]), 0);
			const { whole } = page.sums;
			byId('found').textContent = `${shareText(page.found, whole) || '0 %'} matched (` +
				`${valueText(page.found, page.unit)}; ${functions} function${functions === 1 ? '' : 's'})`;
		}
		this.refreshTable();
	}

	refreshStatus() {
		const { page } = this;
		if (page.timeShown && document.activeElement !== byId('graph')) {
			byId('status').textContent = page.timeline.describe();
			return;
		}
		byId('status').textContent = page.focus >= 0 ? this.describe(page.focus) : this.describe(page.zoomed);
	}

	describe(node) {
		const { page } = this, total = page.tree.value(node), { whole } = page.sums;
		if (!(page.tree.width(0) > 0) && page.sandwich >= 0)
			return `${page.nameOf(0)} is in no sample of ${page.filters.length ? 'those that pass the filters' : 'this profile'}`;
		if (node === 0 && !(page.tree.width(0) > 0))
			return page.filters.length ? 'No samples pass the filters' : `There are no samples of ${typeText(page.profile.types[page.type] || { name: 'anything' })}`;
		const frame = this.frameOf(node);
		const place = frame ? [placeText(frame), frame.module, remarkText(frame, page.tree.inlined(node))].filter(Boolean).join(', ') : '';
		const change = page.profile.differential ? `, ${this.changeText(node)}` : '';
		return `${page.nameOf(node)}: total ${valueText(total, page.unit)}, ${shareText(total, whole)}; ` +
			`own ${valueText(page.tree.self(node), page.unit)}${change}${place ? ` (${place})` : ''}`;
	}

	// The frame of a node; null: it has none, or several.
	frameOf(node) {
		const { tree, profile } = this.page;
		return tree.frame(node) >= 0 && !tree.chain(node) ? profile.frames[tree.frame(node)] : null;
	}

	// "+100 ms (+11 %) against 900 ms"
	changeText(node) {
		const value = this.page.tree.value(node), base = this.page.tree.base(node), growth = growthText(value, base);
		const change = value - base, sign = change > 0 ? '+' : change < 0 ? '\u2212' : '';
		return `${sign}${valueText(Math.abs(change), this.page.unit)}${growth && ` (${growth})`} against ${valueText(base, this.page.unit)}`;
	}

	// ---- tooltip ----

	// ROW_TOP: of the frame's row, on the screen.
	showTip(node, x, rowTop) {
		const tip = byId('tip'), { page } = this;
		const frame = this.frameOf(node), folded = page.tree.chain(node) ? page.framesAt(node) : [];
		tip.replaceChildren(element('strong', {}, page.nameOf(node)));
		if (frame) {
			const lines = [placeText(frame), [frame.module, remarkText(frame, page.tree.inlined(node))].filter(Boolean).join(' \u00b7 ')];
			lines.filter(Boolean).forEach(line => tip.append(element('div', { class: 'place' }, line)));
		}
		folded.slice(0, TIP_FRAMES).forEach(f => tip.append(element('div', { class: 'place' }, shortName(page.profile.frames[f].name))));
		tip.append(this.tipTable(node, frame));
		this.placeTip(x, height => this.tipTop(rowTop, height));
	}

	placeTip(x, topOf) {
		const tip = byId('tip');
		tip.hidden = false;
		const { width, height } = tip.getBoundingClientRect();
		tip.style.left = `${Math.max(Math.min(x + 14, innerWidth - width - 6), 6)}px`;
		tip.style.top = `${Math.max(topOf(height), 6)}px`;
	}

	// Plain lines, beside the pointer.
	showLines(lines, x, y) {
		const tip = byId('tip');
		tip.replaceChildren(element('strong', {}, lines[0]), ...lines.slice(1).map(line => element('div', { class: 'place' }, line)));
		this.placeTip(x, height => y + 18 + height < innerHeight ? y + 18 : y - height - 10);
	}

	// On the side of the callers, so that the children can be read; where there is no room, beyond the
	// nearest rows of children.
	tipTop(rowTop, height) {
		const above = rowTop - height - 6, below = rowTop + ROW_HEIGHT + 5, past = TIP_ROWS * ROW_HEIGHT;
		if (this.page.canvas.upwards)
			return below + height <= innerHeight - 6 ? below : above - past;
		return above >= 6 ? above : below + past;
	}

	hideTip() { byId('tip').hidden = true; }

	tipTable(node, frame) {
		const { page } = this, { tree } = page, { whole } = page.sums;
		const number = value => [element('td', {}, valueText(value, page.unit)), element('td', {}, shareText(value, whole))];
		const row = (name, ...cells) => element('tr', {}, element('th', { scope: 'row' }, name), ...cells);
		const table = element('table', {}, row('total here', ...number(tree.value(node))), row('own here', ...number(tree.self(node))));
		if (frame) {
			const f = tree.frame(node);
			table.append(row('function, total', ...number(page.frameSums.total[f])),
				row('function, own', ...number(page.frameSums.self[f])));
		}
		if (page.profile.differential)
			table.append(row('change', element('td', { colspan: 2 }, this.changeText(node))));
		return table;
	}

	// ---- table of functions ----

	// Own: your code, with the library functions that it calls.
	refreshTable() {
		const { page } = this, table = byId('table');
		if (table.hidden)
			return;
		const { own, self, total } = page.frameSums, sums = page.frameSums[this.sortBy], whole = page.sums.whole;
		const order = page.profile.frames.map((_, i) => i)
			.filter(i => total[i] > 0 && (!page.matches || page.matches[i]))
			.sort((a, b) => sums[b] - sums[a] || self[b] - self[a] || total[b] - total[a] || a - b).slice(0, TABLE_ROWS);
		const cell = value => element('td', { class: 'number' }, ...(value ? [valueText(value, page.unit),
			element('span', {}, shareText(value, whole))] : []));
		table.querySelector('tbody').replaceChildren(...order.map(i => element('tr', {},
			cell(own[i]), cell(self[i]), cell(total[i]),
			element('td', {}, element('button', { type: 'button', 'data-frame': i, title: page.profile.frames[i].name }, shortName(page.profile.frames[i].name))))));
		for (const head of table.querySelectorAll('th button'))
			head.parentNode.setAttribute('aria-sort', head.dataset.by === this.sortBy ? 'descending' : 'none');
	}

	// Of each kind of span in the window: how many, and how long they took. A click on the slowest selects it.
	refreshSpans() {
		const { page } = this, panel = byId('spans'), { window } = page.all;
		byId('spanTable').hidden = !page.timeShown || !page.all.times.spans.length;
		byId('spanTable').setAttribute('aria-pressed', this.spansShown);
		panel.hidden = !page.timeShown || !this.spansShown;
		if (panel.hidden)
			return;
		const cell = text => element('td', { class: 'number' }, text), ns = value => valueText(value, 'nanoseconds');
		this.slowest = spanTable(page.all.times.spans, window);
		panel.querySelector('tbody').replaceChildren(...this.slowest.map((row, i) => element('tr', {}, element('td', {}, row.name),
			cell(row.count.toLocaleString('en-US')), ...row.quantiles.map(value => cell(ns(value))),
			element('td', { class: 'number' }, element('button', { type: 'button', 'data-index': i,
				title: `on ${row.slowest.lane.name} ${row.slowest.lane.tid}, at ${secondsText(row.slowest.begin)} s` },
			ns(row.slowest.end - row.slowest.begin))))));
	}

	// The hot lines of the function whose callers and callees are shown.
	refreshSource() {
		const { page } = this, { profile } = page, lines = profile.source.get(page.sandwich) || [], frame = profile.frames[page.sandwich];
		byId('source').hidden = !lines.length || page.timeShown;
		if (!lines.length)
			return;
		const type = profile.types[profile.defaultType], most = lines.reduce((max, [, , total]) => Math.max(max, total), 0);
		const cell = value => element('td', { class: 'number' }, value ? valueText(value, type.unit) : '');
		byId('source').querySelector('caption').textContent = `${frame.file}: ${typeText(type)}, all samples`;
		byId('source').querySelector('tbody').replaceChildren(...lines.flatMap(([number, self, total, text], i) => {
			const row = element('tr', { class: total > most / 10 ? 'hot' : '' }, cell(self), cell(total), element('td', { class: 'number' }, number),
				element('td', {}, element('code', {}, shown(text.replaceAll('\t', '    ')))));
			return i && lines[i - 1][0] + 1 < number ? [element('tr', {}, element('td', { colspan: 4 }, '\u22ee')), row] : [row];
		}));
	}

	// ---- legend: only what occurs ----

	refreshLegend() {
		const { page } = this, { look, profile } = page;
		const colour = (value, text) => {
			const swatch = element('i', {});
			swatch.style.background = value;
			return element('li', {}, swatch, text);
		};
		if (page.timeShown) {
			page.timeline.look = look;
			byId('legend').replaceChildren(...page.timeline.legend().map(([text, value]) => colour(value, text)));
			page.timeline.look = null;
			return;
		}
		byId('legend').replaceChildren(...(profile.differential ? this.changeScale(look) : this.kinds(look, colour)));
	}

	// Each kind of code with its share: of what ended in it, not in what it calls.
	kinds(look, colour) {
		const { profile, sums, self } = this.page, shares = new Float64Array(KINDS.length);
		self.forEach((value, f) => { shares[profile.frames[f].kind] += value; });
		const has = kind => profile.present.some((one, f) => one && profile.frames[f].kind === kind);
		const entries = KINDS.filter(({ kind }) => has(kind)).map(one => {
			const entry = colour(one.colour(look, 0.5, 0.5), `${one.text} ${shareText(shares[one.kind], sums.whole)}`.trim());
			entry.title = 'Share of the samples that ended in it (self)';
			return entry;
		});
		return [element('li', {}, 'Self:'), ...entries];
	}

	// Every second colour, from less to more, with the change that it shows.
	changeScale(look) {
		const entries = [element('li', {}, 'Change, of the whole:')], scale = element('li', { class: 'scale' });
		for (let step = -8; step <= 8; step += 2) {
			const share = FULL_CHANGE * (step / 8) ** 2 * Math.sign(step), percent = Number((100 * Math.abs(share)).toPrecision(2));
			const box = element('span', {}, `${step < 0 ? '\u2212' : step > 0 ? '+' : ''}${percent} %`);
			box.style.background = changeColour(look, share);
			scale.append(box);
		}
		return [...entries, scale];
	}
}
