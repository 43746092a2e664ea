#include "operate/launch/launch.h"

#include "base/core/text.h"
#include "operate/launch/errors.h"

namespace hone {

std::vector<std::string> rank_launcher_names() {
  std::vector<std::string> names;
  for (const RankLauncher& launcher : all_rank_launcher()) names.push_back(launcher.name);
  return names;
}

Result<RankLauncher> rank_launcher_named(const std::string& name) {
  for (RankLauncher& launcher : all_rank_launcher())
    if (launcher.name == name) return std::move(launcher);
  const std::string near = nearest_name(name, rank_launcher_names());
  return Error(err::kLaunchRequest, fmt::format("there is no launcher '{}'", name))
      .todo(near.empty() ? "choose one of " + join(rank_launcher_names(), ", ")
                         : fmt::format("did you mean {}?", near));
}

}  // namespace hone
