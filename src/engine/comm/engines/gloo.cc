// Gloo: messages over TCP, for CPUs. Nothing else has to be started.
#include "engine/comm/engines/link_group.h"
#include "engine/comm/engines/reach.h"

namespace hone {
namespace {

const LinkModule kGlooModule{"gloo", "libhone_gloo.so", "hone_gloo_link", "libgloo-dev"};

Result<std::unique_ptr<Group>> make_gloo(const World& world, KeyValues& keys,
                                         const CommOptions& options) {
  HONE_TRY(load_link(kGlooModule));
  const std::string address = HONE_TRY(reachable_address(world, keys, options));
  return make_link_group(kGlooModule, address, world, keys, options);
}

}  // namespace

CommEngine comm_engine_gloo() {
  return {.name = "gloo",
          .about = "TCP between any hosts, for CPUs",
          .package = kGlooModule.package,
          .loads = []() -> Status {
            HONE_TRY(load_link(kGlooModule));
            return Ok{};
          },
          .make = make_gloo};
}

}  // namespace hone
