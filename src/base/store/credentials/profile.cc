#include "base/store/credentials/profile.h"

#include "base/core/text.h"

namespace hone {

Profile profile_of(std::string_view file, const std::string& name) {
  Profile found;
  bool inside = false;
  for (size_t at = 0; at < file.size();) {
    const size_t end = std::min(file.find('\n', at), file.size());
    const std::string_view raw = file.substr(at, end - at), line = trim(raw);
    at = end + 1;
    if (line.empty() || line[0] == '#' || line[0] == ';') continue;
    if (line[0] == '[') {
      std::string_view section = line.substr(1, std::min(line.find(']'), line.size()) - 1);
      section = trim(section);
      if (section.starts_with("profile ")) section = trim(section.substr(8));
      inside = section == name;
      continue;
    }
    const size_t equals = line.find('=');
    if (!inside || equals == std::string_view::npos || raw[0] == ' ' || raw[0] == '\t') continue;
    found[to_lower(trim(line.substr(0, equals)))] = std::string(trim(line.substr(equals + 1)));
  }
  return found;
}

}  // namespace hone
