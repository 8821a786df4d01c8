# SPDX-License-Identifier: BSD-3-Clause
about="ffmpeg: made pictures and sound encoded, filtered, decoded again; many threads, SIMD"
packages="ffmpeg"
needs="ffmpeg"
interval=64
at_least lock 100
at_least cpu 300
# Hand-written functions of x264 that keep the stack pointer in another register, without call frame information.
incomplete=1

load() {
	run ffmpeg -nostdin -hide_banner -loglevel error -f lavfi -i testsrc2=duration=10:size=320x240:rate=25 -f lavfi -i sine=frequency=440:duration=10 \
		-c:v mpeg4 -threads 3 -c:a flac -fflags +bitexact -flags:v +bitexact -flags:a +bitexact made.mkv && md5sum <made.mkv
	run ffmpeg -nostdin -hide_banner -loglevel error -i made.mkv -vf 'scale=160:120,hue=s=0,unsharp' -an -f framemd5 -
	run ffmpeg -nostdin -hide_banner -loglevel error -i made.mkv -c:v libx264 -preset fast -threads 4 -x264-params deterministic=1 -an -f null - 
	echo "status $?"
	run ffmpeg -nostdin -hide_banner -loglevel error -i nowhere.mkv -f null -
	echo "status $?"
}

verify() {
	has cpu 'avcodec|libav'
	has lock '^pthread_'
}
