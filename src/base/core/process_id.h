// Identifies a process: numbers are reused, and other machines and containers have numbers of their own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hone {

// The fields of /proc/PID/stat after the name; empty if there is no such process. A zombie counts as gone.
std::vector<std::string> stat_fields(int64_t pid);
// The start of a process, in clock ticks since boot; with the number it identifies a process. "" if there is none.
std::string start_of_process(int64_t pid);
// Equal for processes in which a number means the same process: the boot of this machine, and the container.
std::string process_space();

}  // namespace hone
