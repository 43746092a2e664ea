#include "engine/backends/xla/xla_probe.h"

#include <map>

#include "base/core/text.h"
#include "engine/backends/xla/client.h"
#include "engine/backends/xla/errors.h"

namespace hone::xla {
namespace {

// "4 x cpu".
std::string devices_text(const std::vector<std::string>& kinds) {
  std::map<std::string, int> counts;
  for (const std::string& kind : kinds) ++counts[kind];
  std::vector<std::string> texts;
  for (const auto& [kind, count] : counts) texts.push_back(fmt::format("{} x {}", count, kind));
  return join(texts, ", ");
}

Result<std::unique_ptr<Client>> opened(Platform platform) {
  return Client::open(HONE_TRY(Plugin::load(HONE_TRY(find_plugin(platform)))));
}

}  // namespace

Probe probe_plugins() {
  OrderedJson found = OrderedJson::array();
  std::vector<std::string> texts, remedies;
  for (const auto& [name, platform] :
       {std::pair{"tpu", Platform::tpu}, {"xla_cpu", Platform::cpu}}) {
    const auto client = opened(platform);
    if (!client.ok()) {
      texts.push_back(fmt::format("{}: {}", name, client.error().what()));
      // Only a TPU without its plug-in is a fault of this machine.
      if (platform == Platform::tpu && !client.error().is(err::kNoTpu))
        remedies.push_back(client.error().remedy());
      continue;
    }
    const Client& c = **client;
    found.push_back({{"device", name},
                     {"platform", c.platform()},
                     {"version", c.platform_version()},
                     {"plugin", c.plugin().file()},
                     {"pjrt", c.plugin().version()},
                     {"kinds", c.device_kinds()}});
    texts.push_back(fmt::format("{}: platform {} ({}), {}; PJRT {} of {}", name, c.platform(),
                                c.platform_version(), devices_text(c.device_kinds()),
                                c.plugin().version(), c.plugin().file()));
  }
  OrderedJson json;
  json["pjrt"] = std::move(found);
  return {"pjrt", join(texts, "; "), join(remedies, "; "), std::move(json)};
}

}  // namespace hone::xla
