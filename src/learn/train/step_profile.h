// --profile_steps: writes where the time of a few steps goes, as files for TensorBoard's profile
// plugin and Perfetto.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/session/session.h"
#include "engine/session/xplane.h"
#include "learn/train/settings.h"

namespace hone {

// Steps [begin, end), counted from 0; empty without --profile_steps. H0202: not BEGIN:END.
struct ProfiledSteps {
  int64_t begin = 0, end = 0;
};
Result<ProfiledSteps> profiled_steps(const TrainSettings& s);

// Writes <logdir>/plugins/profile/<YYYY_MM_DD_hh_mm_ss>/<host>.xplane.pb, which it returns, and
// <host>.trace.json beside it. `logdir`: a folder or a URL. Errors: those of the store.
Result<std::string> write_profile(const std::string& logdir, const Session& session,
                                  const Profile& profile, std::span<const ProfiledStep> steps);

class StepProfile {
 public:
  explicit StepProfile(std::string folder, ProfiledSteps steps)
      : folder_(std::move(folder)), steps_(steps) {}

  void before_step(Session& session, int64_t step);
  // After the last one writes the profile and logs its path.
  Status after_step(Session& session, int64_t step);

 private:
  std::string folder_;
  ProfiledSteps steps_;
  Profile profile_;
  std::vector<ProfiledStep> done_;
  double begun_ = 0;
};

}  // namespace hone
