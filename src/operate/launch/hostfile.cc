#include "operate/launch/hostfile.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>
#include <numeric>

#include "base/core/text.h"
#include "operate/launch/errors.h"

namespace hone {
namespace {

constexpr int kMostSlots = 1024, kMostHosts = 65536;

bool slot_number(std::string_view text, int most, int& number) {
  const char* const end = text.data() + text.size();
  const auto [at, failed] = std::from_chars(text.data(), end, number);
  return failed == std::errc() && at == end && number >= 0 && number <= most;
}

// Names reach ssh as words: one that begins with '-' would be an option.
bool is_host(std::string_view name) {
  const auto fits = [](unsigned char c) { return std::isalnum(c) || std::strchr("._-:@[]", c); };
  return !name.empty() && name[0] != '-' && std::all_of(name.begin(), name.end(), fits);
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (size_t at = 0; at < line.size();) {
    const size_t begin = line.find_first_not_of(" \t\r", at);
    if (begin == line.npos) break;
    at = std::min(line.find_first_of(" \t\r", begin), line.size());
    words.push_back(line.substr(begin, at - begin));
  }
  return words;
}

// "host:0,2" and "host": its name and slots.
struct SlotChoice {
  std::string host;
  std::vector<int> slots;  // empty: all
};

Result<std::vector<SlotChoice>> parse_choice(const std::string& text) {
  std::vector<SlotChoice> all;
  for (const std::string& part : split(text, '@')) {
    const size_t colon = part.find(':');
    SlotChoice& choice = all.emplace_back(SlotChoice{std::string(trim(part.substr(0, colon))), {}});
    if (colon == part.npos) continue;
    for (const std::string& slot : split(part.substr(colon + 1), ','))
      if (int n = 0; slot_number(trim(slot), kMostSlots, n))
        choice.slots.push_back(n);
      else
        return Error(err::kHostfile, fmt::format("'{}' is not the number of a slot", slot))
            .at(text)
            .todo("write hosts and slots as worker-1:0,2@worker-2");
  }
  return all;
}

}  // namespace

Result<std::vector<HostSlots>> parse_hostfile(std::string_view text, const std::string& name) {
  std::vector<HostSlots> hosts;
  int number = 0;
  for (const std::string& whole : split(text, '\n')) {
    ++number;
    const std::vector<std::string_view> words =
        words_of(std::string_view(whole).substr(0, whole.find('#')));
    if (words.empty()) continue;
    const auto refuse = [&](const std::string& why) {
      return Error(err::kHostfile, why)
          .at(fmt::format("{}:{}", name, number))
          .todo("write one host a line: worker-1 slots=8");
    };
    if (!is_host(words[0])) return refuse(fmt::format("'{}' is not the name of a host", words[0]));
    int slots = 1;
    for (size_t i = 1; i < words.size(); ++i) {
      const bool counts = words[i].starts_with("slots=");
      if (counts && (!slot_number(words[i].substr(6), kMostSlots, slots) || slots == 0))
        return refuse(fmt::format("'{}' is not a number of slots", words[i]));
      if (!counts && !words[i].starts_with("max_slots=") && !words[i].starts_with("max-slots="))
        return refuse(fmt::format("'{}' is not slots=NUMBER", words[i]));
    }
    if (std::any_of(hosts.begin(), hosts.end(),
                    [&](const HostSlots& h) { return h.host == words[0]; }))
      return refuse(fmt::format("the host '{}' appears twice", words[0]));
    HostSlots& host = hosts.emplace_back();
    host.host = words[0];
    host.slots.resize(static_cast<size_t>(slots));
    std::iota(host.slots.begin(), host.slots.end(), 0);
    if (hosts.size() > kMostHosts) return refuse("there are too many hosts");
  }
  if (hosts.empty())
    return Error(err::kHostfile, "the hostfile names no host")
        .at(name)
        .todo("write one host a line: worker-1 slots=8");
  return hosts;
}

Result<std::vector<HostSlots>> choose_slots(std::vector<HostSlots> hosts,
                                            const std::string& include,
                                            const std::string& exclude) {
  const std::string& text = include.empty() ? exclude : include;
  if (text.empty()) return hosts;
  if (!include.empty() && !exclude.empty())
    return Error(err::kHostfile, "slots are both included and excluded")
        .todo("leave one of them out");
  std::vector<HostSlots> included;
  for (const SlotChoice& choice : HONE_TRY(parse_choice(text))) {
    const auto host = std::find_if(hosts.begin(), hosts.end(),
                                   [&](const HostSlots& h) { return h.host == choice.host; });
    if (host == hosts.end())
      return Error(err::kHostfile, fmt::format("there is no host '{}'", choice.host))
          .at(text)
          .todo("name hosts of the hostfile; without one, localhost");
    for (const int slot : choice.slots)
      if (std::find(host->slots.begin(), host->slots.end(), slot) == host->slots.end())
        return Error(err::kHostfile, fmt::format("the host '{}' has no slot {}", choice.host, slot))
            .at(text)
            .todo("name slots from 0 on");
    if (!include.empty()) {
      included.push_back(
          {choice.host, choice.slots.empty() ? host->slots : choice.slots, !choice.slots.empty()});
      continue;
    }
    host->chosen = true;
    std::erase_if(host->slots, [&](int slot) {
      return choice.slots.empty() ||
             std::find(choice.slots.begin(), choice.slots.end(), slot) != choice.slots.end();
    });
  }
  if (!include.empty()) return included;
  std::erase_if(hosts, [](const HostSlots& h) { return h.slots.empty(); });
  if (hosts.empty())
    return Error(err::kHostfile, "all slots are excluded").at(text).todo("leave some of them in");
  return hosts;
}

Result<std::vector<HostSlots>> first_slots(std::vector<HostSlots> hosts, int most_hosts,
                                           int most_slots) {
  if (most_hosts > static_cast<int>(hosts.size()))
    return Error(err::kHostfile,
                 fmt::format("{} hosts were requested, and {} are there", most_hosts, hosts.size()))
        .todo("add hosts to the hostfile, or request fewer");
  if (most_hosts > 0) hosts.resize(static_cast<size_t>(most_hosts));
  for (HostSlots& host : hosts) {
    if (most_slots > static_cast<int>(host.slots.size()))
      return Error(err::kHostfile, fmt::format("{} slots were requested, and the host '{}' has {}",
                                               most_slots, host.host, host.slots.size()))
          .todo("write its number of slots into the hostfile, or request fewer");
    if (most_slots > 0) host.slots.resize(static_cast<size_t>(most_slots));
  }
  return hosts;
}

}  // namespace hone
