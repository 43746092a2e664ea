// Any text as a hostfile, and as a choice of its slots: refused, or hosts whose names are words.
#include "operate/launch/hostfile.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hone;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const Result<std::vector<HostSlots>> hosts = parse_hostfile(text, "fuzz");
  const std::string choice = text.substr(0, text.find('\n'));
  for (const bool keep : {true, false}) {
    const auto chosen =
        choose_slots({{"a", {0, 1}}, {"b", {0}}}, keep ? choice : "", keep ? "" : choice);
    if (chosen.ok())
      for (const HostSlots& host : *chosen)
        HONE_BUG_IF(host.host != "a" && host.host != "b", "a host from nowhere");
  }
  if (!hosts.ok()) return 0;
  for (const HostSlots& host : *hosts)
    HONE_BUG_IF(host.host.empty() || host.host[0] == '-' || host.slots.empty() ||
                    host.host.find_first_of(" \t\n'\"$`;") != std::string::npos,
                "a bad host");
  return 0;
}
