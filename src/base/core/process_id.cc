#include "base/core/process_id.h"

#include <unistd.h>

#include "base/core/text.h"

namespace hone {

// The name before them may hold anything.
std::vector<std::string> stat_fields(int64_t pid) {
  const auto text = read_file(fmt::format("/proc/{}/stat", pid));
  if (!text.ok()) return {};
  const size_t end = text->rfind(") ");
  if (end == std::string::npos) return {};
  std::vector<std::string> fields = split(trim(std::string_view(*text).substr(end + 2)), ' ');
  if (fields.size() < 20 || fields[0] == "Z" || fields[0] == "X") return {};
  return fields;
}

std::string start_of_process(int64_t pid) {
  const std::vector<std::string> fields = stat_fields(pid);
  return fields.empty() ? "" : fields[19];
}

std::string process_space() {
  const auto boot = read_file("/proc/sys/kernel/random/boot_id");
  char space[64] = {};
  (void)!::readlink("/proc/self/ns/pid", space, sizeof(space) - 1);
  return fmt::format("{} {}", boot.ok() ? trim(*boot) : "", space);
}

}  // namespace hone
