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

// The steps [begin, end) to profile, counted from 0. Both 0: no steps.
struct ProfiledSteps {
  int64_t begin = 0, end = 0;
};
// The steps that --profile_steps gives; no steps if it is not set. Errors: H0202 its value does not have the form
// BEGIN:END with BEGIN below END.
Result<ProfiledSteps> profiled_steps(const TrainSettings& s);

// Writes two files into the folder <logdir>/plugins/profile/<YYYY_MM_DD_hh_mm_ss>: <host>.xplane.pb for TensorBoard and
// <host>.trace.json for Perfetto. Returns the path of the first file. `logdir`: a path or a URL. `steps`: the steps in
// `profile`. Errors: those of the store.
Result<std::string> write_profile(const std::string& logdir, const Session& session,
                                  const Profile& profile, std::span<const ProfiledStep> steps);

// Collects the profile of the given steps. Call before_step() and after_step() around every step of the run.
class StepProfile {
 public:
  // `folder`: the argument `logdir` for write_profile().
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
