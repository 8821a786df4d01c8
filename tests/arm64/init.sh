#!/bin/busybox sh
# SPDX-License-Identifier: BSD-3-Clause
# The first process of the machine of make arm64: mounts its disks, runs inside.sh, and ends the machine.
bb=/bin/busybox
$bb mount -t proc proc /proc
$bb mount -t devtmpfs dev /dev
for module in /modules/*; do $bb insmod "$module"; done
place=$($bb sed 's/.*place=\([^ ]*\).*/\1/' /proc/cmdline)
$bb mount -t ext4 /dev/vda /root
$bb mount -t proc proc /root/proc
$bb mount -t sysfs sys /root/sys
$bb mount -t devtmpfs dev /root/dev
$bb ln -s /proc/self/fd /root/dev/fd
$bb mkdir -p /root/dev/pts /root/dev/shm "/root$place"
$bb mount -t devpts pts /root/dev/pts
$bb mount -t tmpfs tmp /root/dev/shm
$bb mount -t tmpfs tmp /root/tmp
$bb mount -t ext4 /dev/vdb "/root$place"
$bb ifconfig lo 127.0.0.1 up
$bb env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 HOME=/root TERM=dumb $bb chroot /root /bin/bash "$place/inside.sh" </dev/null
$bb poweroff -f
