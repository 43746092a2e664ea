#include "engine/comm/engines/engines.h"

#include "base/core/text.h"
#include "engine/comm/errors.h"
#include "engine/comm/loopback.h"

namespace hone {

std::string comm_engine_names() {
  std::vector<std::string> names;
  for (const CommEngine& e : all_comm_engine()) names.push_back(e.name);
  return join(names, ", ");
}

Result<std::unique_ptr<Group>> make_group(const std::string& engine, const World& world,
                                          KeyValues& keys, const CommOptions& options) {
  std::vector<std::string> names;
  for (const CommEngine& e : all_comm_engine()) {
    if (e.name == engine && world.is_alone()) return single_group();
    if (e.name == engine) return e.make(world, keys, options);
    names.push_back(e.name);
  }
  const std::string near = nearest_name(engine, names);
  return Error(err::kCommEngine,
               fmt::format("there is no engine '{}' for messages between ranks", engine))
      .todo(near.empty() ? "use one of: " + join(names, ", ")
                         : fmt::format("did you mean '{}'?", near));
}

}  // namespace hone
