#include "learn/train/step_profile.h"

#include <time.h>

#include <charconv>

#include "base/core/clock.h"
#include "base/core/log.h"
#include "base/core/process.h"
#include "base/settings/errors.h"
#include "base/store/store.h"
#include "engine/session/profile.h"

namespace hone {
namespace {

std::optional<int64_t> whole(std::string_view text) {
  int64_t n = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (failed != std::errc() || end != text.data() + text.size() || n < 0) return {};
  return n;
}

}  // namespace

Result<ProfiledSteps> profiled_steps(const TrainSettings& s) {
  if (s.profile_steps.empty()) return ProfiledSteps{};
  const size_t colon = s.profile_steps.find(':');
  if (colon != std::string::npos) {
    const auto begin = whole(std::string_view(s.profile_steps).substr(0, colon)),
               end = whole(std::string_view(s.profile_steps).substr(colon + 1));
    if (begin && end && *begin < *end) return ProfiledSteps{*begin, *end};
  }
  return Error(err::kSettingType, fmt::format("'{}' does not name steps", s.profile_steps))
      .at("--profile_steps " + s.profile_steps)
      .todo("write the first step and the one after the last: 10:20 is ten steps");
}

void StepProfile::before_step(Session& session, int64_t step) {
  if (step < steps_.begin || step >= steps_.end) return;
  if (done_.empty()) session.profile_into(&profile_);
  begun_ = system_clock().seconds();
}

Status StepProfile::after_step(Session& session, int64_t step) {
  if (step < steps_.begin || step >= steps_.end) return Ok{};
  done_.push_back({step + 1, begun_, system_clock().seconds()});
  if (step + 1 < steps_.end) return Ok{};
  session.profile_into(nullptr);
  const std::string file = HONE_TRY(write_profile(folder_, session, profile_, done_));
  log_info("{:<11} steps {} to {}: {}", "profile", done_.front().step, done_.back().step, file);
  profile_ = {};
  return Ok{};
}

Result<std::string> write_profile(const std::string& logdir, const Session& session,
                                  const Profile& profile, std::span<const ProfiledStep> steps) {
  const auto now = static_cast<time_t>(system_clock().wall_seconds());
  tm local{};
  ::localtime_r(&now, &local);
  const std::string host = host_name();
  char when[32];
  ::strftime(when, sizeof when, "%Y_%m_%d_%H_%M_%S", &local);
  const std::string folder = fmt::format("{}/plugins/profile/{}", logdir, when);
  Store& store = file_store();
  HONE_TRY(store.make_dirs(folder));
  std::string file = fmt::format("{}/{}.xplane.pb", folder, host);
  HONE_TRY(store.write(file, xplane(session, profile, steps, host)));
  HONE_TRY(
      store.write(fmt::format("{}/{}.trace.json", folder, host), chrome_trace(session, profile)));
  return file;
}

}  // namespace hone
