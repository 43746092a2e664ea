#include "engine/comm/engines/comm_probe.h"

#include "engine/comm/engines/engines.h"

namespace hone {

// One engine that loads is enough; the remedy is that of the first.
Probe probe_communication() {
  OrderedJson json = OrderedJson::object();
  std::vector<std::string> texts;
  std::string remedy;
  bool any = false;
  for (const CommEngine& e : all_comm_engine()) {
    const Status loaded = e.loads();
    json[e.name] = {{"usable", loaded.ok()}, {"reason", loaded.ok() ? "" : loaded.error().what()}};
    texts.push_back(loaded.ok()
                        ? fmt::format("{} ({})", e.name, e.about)
                        : fmt::format("no {}: it needs {} at build time", e.name, e.package));
    any = any || loaded.ok();
    if (!loaded.ok() && remedy.empty())
      remedy = fmt::format("install {} and build hone again, for runs of several ranks", e.package);
  }
  return {"ranks", join(texts, "; "), any ? "" : remedy, {{"communication", std::move(json)}}};
}

}  // namespace hone
