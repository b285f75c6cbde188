// MetadataResponse of franz-go's kmsg. Reads "decode 5" from standard input, decodes five times, and prints the CPU
// nanoseconds of each call. The parent process measures the time of garbage collection in other threads.
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// kept is the last result, so that the compiler cannot remove the operations.
var kept any

func main() {
	if len(os.Args) < 3 {
		fail("usage: PROGRAM FILE VERSION")
	}
	runtime.LockOSThread()
	input, err := os.ReadFile(os.Args[1])
	check(err)
	version, err := strconv.ParseInt(os.Args[2], 10, 16)
	check(err)

	message := decode(input, int16(version))
	if !bytes.Equal(message.AppendTo(nil), input) {
		fail("the encoded message differs from the input")
	}
	operations := map[string]func(){
		"decode": func() { kept = decode(input, int16(version)) },
		"encode": func() { kept = message.AppendTo(nil) },
	}
	buffer := make([]byte, 0, len(input))
	operations["reuse"] = func() { buffer = message.AppendTo(buffer[:0]) }
	fmt.Println("decode encode reuse")

	commands := bufio.NewScanner(os.Stdin)
	for commands.Scan() {
		name, number, _ := strings.Cut(commands.Text(), " ")
		calls, err := strconv.Atoi(number)
		check(err)
		taken := make([]string, calls)
		for call := range taken {
			start := threadTime()
			operations[name]()
			taken[call] = strconv.FormatInt(threadTime()-start, 10)
		}
		fmt.Println(strings.Join(taken, " "))
	}
}

// decode lets strings refer to the input, which is the faster of two methods of kmsg.
func decode(input []byte, version int16) *kmsg.MetadataResponse {
	message := kmsg.NewPtrMetadataResponse()
	message.SetVersion(version)
	check(message.UnsafeReadFrom(input))
	return message
}

// threadTime returns the CPU time of this thread in nanoseconds.
func threadTime() int64 {
	const clockThreadCPUTime = 3
	var now syscall.Timespec
	_, _, failed := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockThreadCPUTime, uintptr(unsafe.Pointer(&now)), 0)
	if failed != 0 {
		fail(failed.Error())
	}
	return now.Nano()
}

func check(err error) {
	if err != nil {
		fail(err.Error())
	}
}

func fail(why string) {
	fmt.Fprintln(os.Stderr, why)
	os.Exit(1)
}
