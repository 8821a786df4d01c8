# SPDX-License-Identifier: BSD-3-Clause
about="node: its own assertions in workers, zlib, crypto, children, timers, promises; V8's compilers"
packages="nodejs"
needs="node"
interval=512
# Code that V8 generated has frame pointers, and no call frame information where it sets them up.
incomplete=1

prepare() {
	cat >work.js <<'EOF'
const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');
const zlib = require('zlib'), crypto = require('crypto'), cp = require('child_process'), fs = require('fs');
function sieve(n) { const a = new Uint8Array(n + 1); let c = 0; for (let i = 2; i <= n; i++) if (!a[i]) { c++; for (let j = i * 2; j <= n; j += i) a[j] = 1; } return c; }
function words(n) { const m = new Map(); let x = 12345; for (let i = 0; i < n; i++) { x = (x * 1103515245 + 12345) & 0x7fffffff; const k = 'w' + (x % 5003); m.set(k, (m.get(k) || 0) + 1); } return [...m].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).slice(0, 5); }
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
function deep(n) { return n ? deep(n - 1) + 1 : 0; }
if (!isMainThread) { parentPort.postMessage([workerData, sieve(300000 + workerData), fib(22)]); return; }
(async () => {
	console.log(sieve(600000), fib(24), deep(3000), JSON.stringify(words(60000)));
	const text = Array.from({ length: 100000 }, (_, i) => 'line ' + i * 7919 % 1009).join('\n');
	const packed = await Promise.all([1, 5, 9].map(level => new Promise((ok, no) => zlib.gzip(text, { level }, (e, b) => e ? no(e) : ok(b)))));
	console.log(packed.map(b => zlib.gunzipSync(b).toString() === text));
	console.log(crypto.pbkdf2Sync('a', 'b', 20000, 32, 'sha256').toString('hex'));
	console.log(await Promise.all([1, 2, 3].map(n => new Promise((ok, no) => { const w = new Worker(__filename, { workerData: n }); w.on('message', ok); w.on('error', no); }))));
	console.log(cp.execFileSync('echo', ['a child']).toString().trim(), cp.spawnSync(process.execPath, ['-e', 'process.exit(7)']).status);
	for (let i = 0; i < 50; i++) { try { JSON.parse('{' + i); } catch (e) { if (i == 49) console.log(e.name); } }
	let s = 0; for (let i = 0; i < 50000; i++) s += /(\d+)-(\w+)/.exec(i + '-x' + i)[1].length; console.log(s);
	await new Promise(ok => setTimeout(ok, 50));
	fs.writeFileSync('out', text); console.log(crypto.createHash('sha1').update(fs.readFileSync('out')).digest('hex'));
	console.error('done'); process.exitCode = 5;
})();
EOF
}

load() {
	run node "$shared/work.js"
	echo "status $?"
	run node --interpreted-frames-native-stack -p '[1,2,3].map(x => x * 2).join()'
	run node -e 'setTimeout(() => { throw new Error("uncaught") }, 10)' 2>/dev/null
	echo "status $?"
}

verify() {
	has cpu 'node::Start|v8::internal::'
	has wall 'uv__io_poll|uv_cond_wait|epoll'
}
