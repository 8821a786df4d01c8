// Everything around the canvas: heading, choices, path, tooltip, status, table, legend. Text from
// the profile goes in as text nodes only.
'use strict';

const TABLE_ROWS = 300;
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
		this.sortBy = 'self';
		const { profile } = page;
		byId('title').textContent = profile.title;
		byId('summary').textContent = profile.info.map(([name, value]) => `${name}: ${value}`).join(' \u00b7 ');
		profile.types.forEach((type, i) => byId('type').append(element('option', { value: i }, this.typeText(type))));
		byId('type').value = page.type;
		byId('type-choice').hidden = profile.types.length < 2;
		byId('compare-choice').hidden = byId('width-choice').hidden = !profile.differential;
	}

	typeText(type) {
		return type.unit === '' || type.unit === 'count' ? type.name : `${type.name} (${type.unit})`;
	}

	refresh() {
		this.refreshFilters();
		this.refreshPath();
		this.refreshFound();
		this.refreshStatus();
		this.refreshLook();
	}

	refreshLook() {
		const { page } = this;
		document.documentElement.dataset.theme = page.darkNow() ? 'dark' : 'light';
		byId('theme').textContent = `Theme: ${page.theme}`;
		for (const [id, on] of [['callers', page.callers], ['flip', page.canvas.upwards]])
			byId(id).setAttribute('aria-pressed', on);
		this.refreshLegend();
	}

	refreshFilters() {
		const { page } = this, list = byId('filter');
		const totals = labelTotals(page.profile, page.type), whole = page.sums.total[0] || 0;
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
				`${filter.key}: ${filter.value} \u00d7`))));
	}

	refreshPath() {
		const { page } = this, parts = [];
		for (let at = page.zoomed; at > 0; at = page.tree.parent(at))
			parts.unshift(at);
		const path = byId('path');
		path.replaceChildren();
		if (parts.length === 0)
			return;
		// Of a long path its ends.
		const shownParts = parts.length > 12 ? [...parts.slice(0, 4), -1, ...parts.slice(-7)] : parts;
		for (const node of [0, ...shownParts]) {
			if (node < 0) {
				path.append(element('span', { class: 'gap' }, '\u2026 \u203a'));
			} else if (node === page.zoomed) {
				path.append(element('span', { 'aria-current': 'location' }, page.nameOf(node)));
			} else {
				path.append(element('button', { type: 'button', 'data-node': node }, page.nameOf(node)),
					element('span', { class: 'gap', 'aria-hidden': 'true' }, '\u203a'));
			}
		}
		path.scrollTop = path.scrollHeight;
	}

	refreshFound() {
		const { page } = this;
		byId('found').textContent = '';
		if (page.matches) {
			const functions = page.matches.reduce((sum, one) => sum + one, 0);
			const whole = page.sums.total[0];
			byId('found').textContent = `${shareText(page.found, whole) || '0 %'} matched (` +
				`${valueText(page.found, page.unit)}; ${functions} function${functions === 1 ? '' : 's'})`;
		}
		this.refreshTable();
	}

	refreshStatus() {
		const { page } = this;
		byId('status').textContent = page.focus >= 0 ? this.describe(page.focus) : this.describe(page.zoomed);
	}

	describe(node) {
		const { page } = this, total = page.tree.value(node), whole = page.tree.value(0);
		if (node === 0 && !(page.tree.width(0) > 0))
			return page.filters.length ? 'No samples pass the filters' : 'There are no samples of this value';
		const frame = node > 0 ? page.profile.frames[page.tree.frame(node)] : null;
		const place = frame ? [placeText(frame), frame.module, remarkText(frame)].filter(Boolean).join(', ') : '';
		const change = page.profile.differential ? `, ${this.changeText(total, page.tree.base(node))}` : '';
		return `${page.nameOf(node)}: total ${valueText(total, page.unit)}, ${shareText(total, whole)}; ` +
			`self ${valueText(page.tree.self(node), page.unit)}${change}${place ? ` (${place})` : ''}`;
	}

	changeText(value, base) {
		const change = value - base, sign = change > 0 ? '+' : change < 0 ? '\u2212' : '';
		return `${sign}${valueText(Math.abs(change), this.page.unit)} against ${valueText(base, this.page.unit)}`;
	}

	// ---- tooltip ----

	showTip(node, x, y) {
		const tip = byId('tip'), { page } = this;
		const frame = node > 0 ? page.profile.frames[page.tree.frame(node)] : null;
		tip.replaceChildren(element('strong', {}, page.nameOf(node)));
		if (frame) {
			const lines = [placeText(frame), [frame.module, remarkText(frame)].filter(Boolean).join(' \u00b7 ')];
			lines.filter(Boolean).forEach(line => tip.append(element('div', { class: 'place' }, line)));
		}
		tip.append(this.tipTable(node, frame));
		tip.hidden = false;
		const box = tip.getBoundingClientRect();
		const left = Math.min(x + 14, innerWidth - box.width - 6);
		const top = y + 18 + box.height > innerHeight - 6 ? y - box.height - 10 : y + 18;
		tip.style.left = `${Math.max(left, 6)}px`;
		tip.style.top = `${Math.max(top, 6)}px`;
	}

	hideTip() { byId('tip').hidden = true; }

	tipTable(node, frame) {
		const { page } = this, { tree } = page, whole = tree.value(0);
		const number = value => [element('td', {}, valueText(value, page.unit)), element('td', {}, shareText(value, whole))];
		const row = (name, ...cells) => element('tr', {}, element('th', { scope: 'row' }, name), ...cells);
		const table = element('table', {}, row('total here', ...number(tree.value(node))), row('self here', ...number(tree.self(node))));
		if (frame) {
			const f = tree.frame(node);
			table.append(row('function, total', ...number(page.frameSums.total[f])),
				row('function, self', ...number(page.frameSums.self[f])));
		}
		if (page.profile.differential)
			table.append(row('change', element('td', { colspan: 2 }, this.changeText(tree.value(node), tree.base(node)))));
		return table;
	}

	// ---- table of functions ----

	refreshTable() {
		const { page } = this, table = byId('table');
		if (table.hidden)
			return;
		const sums = page.frameSums[this.sortBy], whole = page.sums.total[0];
		const order = page.profile.frames.map((_, i) => i)
			.filter(i => page.frameSums.total[i] > 0 && (!page.matches || page.matches[i]))
			.sort((a, b) => sums[b] - sums[a] || a - b).slice(0, TABLE_ROWS);
		const cell = value => element('td', { class: 'number' }, valueText(value, page.unit),
			element('span', {}, shareText(value, whole)));
		table.querySelector('tbody').replaceChildren(...order.map(i => element('tr', {},
			cell(page.frameSums.self[i]), cell(page.frameSums.total[i]),
			element('td', {}, element('button', { type: 'button', 'data-frame': i }, page.profile.frames[i].name)))));
		for (const head of table.querySelectorAll('th button'))
			head.parentNode.setAttribute('aria-sort', head.dataset.by === this.sortBy ? 'descending' : 'none');
	}

	// ---- legend: only what occurs ----

	refreshLegend() {
		const { page } = this, { look, profile } = page;
		const has = kind => profile.frames.some(frame => frame.kind === kind);
		const colour = (value, text) => {
			const swatch = element('i', {});
			swatch.style.background = value;
			return element('li', {}, swatch, text);
		};
		const entries = profile.differential ? [
			colour(look.changed(1, true), 'more'), colour(look.same, 'same'), colour(look.changed(1, false), 'less'),
		] : [
			colour(look.user(0.5, 0.4), 'code, a hue for each module'),
			has(KIND_KERNEL) && colour(look.kernel(0.5), 'kernel'),
			has(KIND_JIT) && colour(look.jit(0.5), 'JIT'),
			has(KIND_MARK) && colour(look.mark(), 'no code'),
		];
		if (profile.frames.some(frame => frame.inlined))
			entries.push(element('li', {}, element('b', {}, '\u25b8 '), 'inlined'));
		byId('legend').replaceChildren(...entries.filter(Boolean));
	}
}
