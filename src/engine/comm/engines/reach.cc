#include "engine/comm/engines/reach.h"

#include <algorithm>
#include <optional>

#include "base/core/json.h"
#include "base/core/text.h"
#include "engine/comm/engines/addresses.h"
#include "engine/comm/engines/errors.h"
#include "engine/comm/engines/reach_probe.h"
#include "engine/comm/errors.h"

namespace hone {
namespace {

constexpr double kReachPatience = 3;  // with one host's answer

// A rank as the others see it.
struct Reachable {
  std::string host;
  std::vector<HostAddress> addresses = {};
  int port = 0;
  std::string token = {};
};

std::string named(const HostAddress& a) { return fmt::format("{} ({})", a.address, a.interface); }
std::string named(const std::vector<HostAddress>& addresses) {
  std::vector<std::string> names;
  for (const HostAddress& a : addresses) names.push_back(named(a));
  return names.empty() ? "none" : join(names, ", ");
}

Result<std::string> chosen_address(const World& world, const std::string& wanted) {
  const std::vector<HostAddress> all = host_addresses("");
  for (const HostAddress& a : all)
    if (a.interface == wanted || a.address == wanted) return a.address;
  return Error(err::kCommEngine,
               fmt::format("host {} has no network interface '{}'", world.host, wanted))
      .at("HONE_RANKS_INTERFACE")
      .todo("use one of: " + named(all));
}

std::string encoded(const Reachable& r) {
  Json json = {{"host", r.host}, {"port", r.port}, {"token", r.token}};
  json["addresses"] = Json::array();
  for (const HostAddress& a : r.addresses)
    json["addresses"].push_back({a.interface, a.address, a.is_v6});
  return dump_json(json);
}

Error malformed(int rank) {
  return Error(err::kRanksApart,
               fmt::format("rank {} describes its addresses in an unknown way", rank))
      .todo("start every rank with the same version of hone");
}

Result<Reachable> decoded(const std::string& text, int rank) {
  const Result<Json> json = parse_json(text, "addresses");
  if (!json.ok()) return malformed(rank);
  try {
    Reachable r{.host = json->at("host").get<std::string>(),
                .port = json->at("port").get<int>(),
                .token = json->at("token").get<std::string>()};
    for (const Json& a : json->at("addresses"))
      r.addresses.push_back(
          {a.at(0).get<std::string>(), a.at(1).get<std::string>(), a.at(2).get<bool>()});
    return r;
  } catch (const Json::exception&) {
    return malformed(rank);
  }
}

// By rank, then by address: 'x' if the rank that wrote it reached that one.
using Reached = std::vector<std::string>;

Reached probe_all(int self, const std::vector<Reachable>& ranks) {
  std::vector<ReachTarget> targets;
  for (const Reachable& r : ranks)
    for (const HostAddress& a : r.addresses) targets.push_back({a.address, r.port, r.token});
  const std::vector<char> answers = reached_targets(targets, kReachPatience);
  Reached reached;
  size_t at = 0;
  for (size_t r = 0; r < ranks.size(); ++r) {
    reached.emplace_back();
    for (size_t i = 0; i < ranks[r].addresses.size(); ++i, ++at)
      reached.back() += answers[at] != 0 || static_cast<int>(r) == self ? 'x' : '-';
  }
  return reached;
}

// The first address of `rank`, of this family, that all ranks reach.
std::optional<HostAddress> common_address(size_t rank, bool v6, const Reachable& r,
                                          const std::vector<Reached>& by) {
  for (size_t i = 0; i < r.addresses.size(); ++i) {
    if (r.addresses[i].is_v6 != v6) continue;
    const auto reaches = [&](const Reached& x) {
      return x.size() > rank && x[rank].size() > i && x[rank][i] == 'x';
    };
    if (std::all_of(by.begin(), by.end(), reaches)) return r.addresses[i];
  }
  return std::nullopt;
}

// All ranks come to the same decision, and to the same error.
Result<std::string> decide(size_t self, const std::vector<Reachable>& ranks,
                           const std::vector<Reached>& by) {
  for (const bool v6 : {false, true}) {
    std::vector<std::string> taken;
    for (size_t r = 0; r < ranks.size(); ++r)
      if (const auto a = common_address(r, v6, ranks[r], by)) taken.push_back(a->address);
    if (taken.size() == ranks.size()) return taken[self];
  }
  for (size_t r = 0; r < ranks.size(); ++r)
    for (size_t peer = 0; peer < ranks.size(); ++peer)
      if (by[peer].size() > r && by[peer][r].find('x') == std::string::npos)
        return Error(err::kRanksApart,
                     fmt::format("rank {} on {} reaches no address of rank {} on {}: {}", peer,
                                 ranks[peer].host, r, ranks[r].host, named(ranks[r].addresses)))
            .todo(
                "open the ports between these hosts, or name the network interface that joins them "
                "in HONE_RANKS_INTERFACE");
  return Error(err::kRanksApart, "no address of a rank is reached by all others")
      .todo("name the network interface that joins all hosts in HONE_RANKS_INTERFACE");
}

}  // namespace

Result<std::string> reachable_address(const World& world, KeyValues& keys,
                                      const CommOptions& options) {
  if (!options.interface.empty()) return chosen_address(world, options.interface);
  if (world.local_ranks == world.ranks) return "127.0.0.1";

  Reachable mine{.host = world.host, .addresses = host_addresses(world.address)};
  const auto is_private = [](const HostAddress& a) { return is_own_host(a); };
  if (!std::all_of(mine.addresses.begin(), mine.addresses.end(), is_private))
    std::erase_if(mine.addresses, is_private);
  const auto server = HONE_TRY(ReachServer::start());
  mine.port = server->port();
  mine.token = server->token();
  const auto key = [&](const char* what, int rank) {
    return fmt::format("comm/{}/{}/{}/{}", world.epoch, options.name, what, rank);
  };
  HONE_TRY(keys.set(key("addresses", world.rank), encoded(mine)));
  std::vector<Reachable> ranks;
  for (int r = 0; r < world.ranks; ++r) {
    const std::string text = HONE_TRY(keys.get(key("addresses", r), options.connect_s));
    ranks.push_back(HONE_TRY(decoded(text, r)));
  }
  HONE_TRY(keys.set(key("reached", world.rank), join(probe_all(world.rank, ranks), " ")));
  std::vector<Reached> by;
  for (int r = 0; r < world.ranks; ++r)
    by.push_back(split(HONE_TRY(keys.get(key("reached", r), options.connect_s)), ' '));
  return decide(static_cast<size_t>(world.rank), ranks, by);
}

}  // namespace hone
