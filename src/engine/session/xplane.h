// A profile as an XSpace for TensorBoard's profile plugin and xprof, in
// <logdir>/plugins/profile/<YYYY_MM_DD_hh_mm_ss>/<host>.xplane.pb. The messages are those of
// tsl/profiler/protobuf/xplane.proto.
#pragma once

#include <span>
#include <string>

#include "engine/session/session.h"

namespace hone {

struct ProfiledStep {
  int64_t step = 0;           // from 1
  double begin = 0, end = 0;  // as in Profile
};

// One plane of the host, with a line for the steps and one for each thread. The first thread has a
// slice for each node with its scope, phase, kernel and speed; every thread has slices "wait" while
// it waits.
std::string xplane(const Session& session, const Profile& profile,
                   std::span<const ProfiledStep> steps, const std::string& host);

}  // namespace hone
