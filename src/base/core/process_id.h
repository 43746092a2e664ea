// Identifies a process for longer than its process number does: the system reuses numbers, and other machines and
// containers have their own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hone {

// The fields of /proc/PID/stat (proc(5)) after the program's name: element 0 is the process state. Empty if there is no
// such process, or if it is a zombie.
std::vector<std::string> stat_fields(int64_t pid);
// The start time of a process in clock ticks since boot, as decimal digits. Process number and start time together
// identify a process. "" if there is no such process.
std::string start_of_process(int64_t pid);
// A text that identifies the boot of this machine and the PID namespace (the container). In two processes
// with equal texts, the same process number means the same process.
std::string process_space();

}  // namespace hone
