// Profiles a few steps (--profile_steps): writes the times of their parts as files for TensorBoard's profile plugin and
// for Perfetto.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/session/session.h"
#include "engine/session/xplane.h"
#include "learn/train/settings.h"

namespace hone {

// The steps [begin, end) to profile, counted from 0. Empty if both are 0.
struct ProfiledSteps {
  int64_t begin = 0, end = 0;
};
// The steps of --profile_steps; empty if it is not set. H0202: its value is not BEGIN:END.
Result<ProfiledSteps> profiled_steps(const TrainSettings& s);

// Writes <logdir>/plugins/profile/<YYYY_MM_DD_hh_mm_ss>/<host>.xplane.pb, and <host>.trace.json in the same folder.
// Returns the path of the first file. `logdir`: a folder or a URL. `steps`: the steps in `profile`. Errors: those of
// the store.
Result<std::string> write_profile(const std::string& logdir, const Session& session,
                                  const Profile& profile, std::span<const ProfiledStep> steps);

// Collects the profile of the given steps. Call before_step() and after_step() around every step of the run.
class StepProfile {
 public:
  // `folder`: the logdir of write_profile().
  explicit StepProfile(std::string folder, ProfiledSteps steps)
      : folder_(std::move(folder)), steps_(steps) {}

  void before_step(Session& session, int64_t step);
  // After the last step to profile, writes the profile and logs its path. Errors: those of write_profile().
  Status after_step(Session& session, int64_t step);

 private:
  std::string folder_;
  ProfiledSteps steps_;
  Profile profile_;
  std::vector<ProfiledStep> done_;
  double begun_ = 0;
};

}  // namespace hone
