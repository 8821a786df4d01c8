// SPDX-License-Identifier: BSD-3-Clause
// What is looked at, as the fragment of the address: a page that is loaded again, or a link that is
// sent, shows the same, and the browser's back button undoes a zoom or a change of the tab.
'use strict';

const WRITE_MS = 250;
const TIME = 'Time'; // the tab

// Nanoseconds as seconds, exactly: "1.25".
function secondsText(ns) {
	return (ns / 1e9).toFixed(9).replace(/\.?0+$/, '');
}

function stateText(page) {
	const { profile } = page, state = new URLSearchParams();
	const set = (name, value, usual) => { if (value !== usual) state.append(name, value); };
	set('tab', page.timeShown ? TIME : profile.name, page.all.tabs[page.all.first].name);
	set('below', page.timeShown ? profile.name : '', page.timeShown ? page.all.tabs[page.all.first].name : '');
	set('time', page.all.window ? `${secondsText(page.all.window.from)}-${secondsText(page.all.window.to)}` : '', '');
	set('value', profile.types[page.type] && profile.types[page.type].name, (profile.types[profile.defaultType] || {}).name);
	set('view', page.callers ? 'callers' : '', '');
	const { name, module } = profile.frames[page.sandwich] || { name: '', module: '' };
	set('function', name, '');
	set('module', profile.frames.some(one => one.name === name && one.module !== module) ? module : '', '');
	set('runtime', page.unfolded ? 'open' : '', '');
	set('layout', page.canvas.upwards ? 'flame' : '', '');
	set('compare', page.shares ? 'shares' : '', '');
	set('width', page.widthOfBase ? 'before' : '', '');
	for (const { key, value } of page.filters)
		state.append('filter', `${key}=${value}`);
	set('search', page.query, '');
	set('zoom', page.pathFrames().map(frame => frame.toString(36)).join('.'), '');
	return state.toString();
}

function applyState(page, text) {
	const state = new URLSearchParams(text), { all } = page;
	const [from, to] = (state.get('time') || '').split('-').map(part => Math.round(parseFloat(part) * 1e9));
	all.window = from >= 0 && to > from && from < all.length ? { from, to } : null;
	const same = (name, key) => name.toLowerCase() === (state.get(key) || '').toLowerCase();
	page.timeShown = all.hasTimes && same(TIME, 'tab');
	const key = page.timeShown ? 'below' : 'tab', index = state.has(key) ? all.tabs.findIndex(tab => same(tab.name, key)) : all.first;
	const profile = page.profile = all.tabs[Math.max(index, 0)];
	const type = profile.types.findIndex(one => one.name === state.get('value'));
	page.type = type >= 0 ? type : profile.defaultType;
	page.callers = state.get('view') === 'callers';
	page.sandwich = profile.frames.findIndex(one => one.name === state.get('function') && one.module === (state.get('module') || one.module));
	page.unfolded = state.get('runtime') === 'open';
	page.canvas.upwards = state.get('layout') === 'flame';
	page.shares = profile.differential && state.get('compare') === 'shares';
	page.widthOfBase = profile.differential && state.get('width') === 'before';
	page.setFilters(state.getAll('filter').map(filter => {
		const at = filter.indexOf('=');
		return { key: filter.slice(0, at), value: filter.slice(at + 1) };
	}));
	page.setQuery(state.get('search') || '');
	const path = (state.get('zoom') || '').split('.').filter(Boolean).map(part => parseInt(part, 36));
	page.rebuild(path);
}

// Steps (zoom, tab, view) are remembered for the back button; changes letter by letter aren't.
class History {
	constructor(page) {
		this.page = page;
		this.timer = 0;
		addEventListener('popstate', () => this.read());
	}

	read() {
		clearTimeout(this.timer);
		applyState(this.page, location.hash.slice(1));
	}

	write(step) {
		clearTimeout(this.timer);
		if (step)
			this.put(step);
		else
			this.timer = setTimeout(() => this.put(false), WRITE_MS);
	}

	put(step) {
		const text = stateText(this.page), now = location.hash.slice(1);
		if (text === now)
			return;
		try {
			history[step ? 'pushState' : 'replaceState'](null, '', `#${text}`);
		} catch (error) {
			// A page inside another may not; then there is no address to keep it in.
		}
	}
}
