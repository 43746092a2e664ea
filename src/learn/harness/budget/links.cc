#include "learn/harness/budget/links.h"

#include "base/core/text.h"

namespace hone {
namespace {

constexpr double kGigaByte = 1e9, kGigaBit = 1e9 / 8, kMicro = 1e-6;

// Guesses for links that no data sheet describes. Ranks on CPUs meet over TCP.
struct LinkGuess {
  double near_gbyte, network_gbit;     // inside a machine, between machines
  double near_us, far_us, message_us;  // a round in a machine, between machines; a message
};
constexpr LinkGuess kTcp{2, 10, 50, 100, 5}, kGpu{0, 10, 10, 20, 1};

// Gbit/s to other machines, of each device in its maker's server: DGX B200, H200 and H100 have eight
// ConnectX-7 of 400 Gbit/s, DGX A100 eight of 200 Gbit/s, DGX-1 four of 100 Gbit/s for eight V100, by their data
// sheets. 0: the maker has no such server.
double network_of(const std::string& device) {
  for (const auto& [name, gbit] : {std::pair("B200", 400.0),
                                   {"H200", 400.0},
                                   {"H100", 400.0},
                                   {"A100-80GB", 200.0},
                                   {"A100-40GB", 200.0},
                                   {"V100-32GB", 50.0},
                                   {"V100-16GB", 50.0}})
    if (device == name) return gbit;
  return 0;
}

class LinkFigures {
 public:
  LinkFigures(const Cluster& cluster, const LinkSettings& given)
      : cluster_(cluster), given_(given), guess_(cluster.device.own_memory ? kGpu : kTcp) {}

  Links all() {
    if (cluster_.count > 1) set_near();
    if (cluster_.machines > 1) set_far();
    LinkSpeeds& s = links_.speeds;
    s.near_ranks = cluster_.count;
    s.near_seconds = guess_.near_us * kMicro;
    s.far_seconds = (given_.network_us > 0 ? given_.network_us : guess_.far_us) * kMicro;
    s.message_seconds = guess_.message_us * kMicro;
    add_latencies();
    return std::move(links_);
  }

 private:
  void add(const std::string& what, const std::string& source, const std::string& flag) {
    links_.figures.push_back(fmt::format("{} ({})", what, source));
    if (!flag.empty()) links_.guesses.push_back(fmt::format("{}: give {}", what, flag));
  }

  void set_near() {
    const double sheet = cluster_.device.peer_bytes_per_second;
    const double speed = given_.peer_gbyte > 0 ? given_.peer_gbyte * kGigaByte
                         : sheet > 0           ? sheet
                                               : guess_.near_gbyte * kGigaByte;
    links_.speeds.near_bytes_per_second = speed;
    add(fmt::format("{:.4g} GB/s between devices of a machine", speed / kGigaByte),
        given_.peer_gbyte > 0 ? "given"
        : sheet > 0           ? "data sheet of " + cluster_.device.name
                              : "a guess",
        given_.peer_gbyte > 0 || sheet > 0 ? "" : "--peer_gbyte");
  }

  void set_far() {
    const auto count = static_cast<double>(cluster_.count);
    const double sheet = network_of(cluster_.device.name) * kGigaBit;
    const double speed = given_.network_gbit > 0 ? given_.network_gbit * kGigaBit / count
                         : sheet > 0             ? sheet
                                                 : guess_.network_gbit * kGigaBit / count;
    links_.speeds.far_bytes_per_second = speed;
    add(fmt::format("{:.4g} Gbit/s from each machine to others", speed * count / kGigaBit),
        given_.network_gbit > 0 ? "given"
        : sheet > 0
            ? fmt::format("data sheet of the maker's server of eight {}", cluster_.device.name)
            : "a guess",
        given_.network_gbit > 0 || sheet > 0 ? "" : "--network_gbit");
  }

  void add_latencies() {
    const LinkSpeeds& s = links_.speeds;
    if (cluster_.machines > 1)
      add(fmt::format("{:.3g} us until a message is at another machine", s.far_seconds / kMicro),
          given_.network_us > 0 ? "given" : "a guess", given_.network_us > 0 ? "" : "--network_us");
    add(fmt::format("{:.3g} us before messages in a machine, {:.3g} us for each message",
                    s.near_seconds / kMicro, s.message_seconds / kMicro),
        "a guess", "");
  }

  const Cluster& cluster_;
  const LinkSettings& given_;
  const LinkGuess guess_;
  Links links_;
};

}  // namespace

Links links_of(const Cluster& cluster, const LinkSettings& given) {
  return LinkFigures(cluster, given).all();
}

}  // namespace hone
