// A profile as a serialized protobuf message XSpace (tsl/profiler/protobuf/xplane.proto), for TensorBoard's profile
// plugin and xprof. They read it from <logdir>/plugins/profile/<YYYY_MM_DD_hh_mm_ss>/<host>.xplane.pb.
#pragma once

#include <span>
#include <string>

#include "engine/session/session.h"

namespace hone {

struct ProfiledStep {
  int64_t step = 0;           // number of the step; the first is 1
  double begin = 0, end = 0;  // seconds of the steady clock, like NodeRun's
};

// Returns the bytes of the file. The message has one plane (the host `host`), with a line for the steps and a line for
// each thread. A thread has slices for the nodes that it works on, with scope, phase and kernel, and slices "wait"
// while it waits. The first thread has a slice for each node, which also has the node's speed. The planes that the device
// recorded follow.
std::string xplane(const Session& session, const Profile& profile,
                   std::span<const ProfiledStep> steps, const std::string& host);

}  // namespace hone
