// Reports of a session's profile: a table of the time of each op compared with the machine's best speeds, and a trace.
//   Profile profile;
//   session.profile_into(&profile);   session.run(0);   session.profile_into(nullptr);
//   profile_table(session, profile, HONE_TRY(measure_limits(backend)), 1)
#pragma once

#include <algorithm>

#include "engine/session/session.h"

namespace hone {

// The best speeds of the machine. Clock rates change over time, so measure the limits together with the profile.
struct MachineLimits {
  double flops = 0;  // FLOPs a second of a product of square matrices, without copies from the host
  double bytes = 0;  // bytes a second that the sum of two f32 tensors reads and writes
};
// Measures the limits. The product has bf16 operands if `bf16` is true, else f32 operands. On a CPU the matrices have
// 2048 x 2048 elements and the tensors 64 MiB; this needs about a second and 200 MiB. On other devices the sizes double
// until the device needs 2 ms, up to 8192 x 8192 elements and 1 GiB. Errors: those of Session::compile(), allocate()
// and check().
Result<MachineLimits> measure_limits(const Backend& backend, bool bf16 = false);

// The sum over all runs of one op's nodes in one phase.
struct OpTime {
  std::string phase;  // "forward", "backward" or "update"
  std::string op;
  int64_t runs = 0;                          // how often a node of the op ran
  int64_t launches = 0;                      // kernel launches, on a device other than the host
  double seconds = 0, flops = 0, bytes = 0;  // flops and bytes by the op's Cost
  double busy = 0;                           // share of the threads' time spent working, 0 to 1
};
// The profile by phase and op, sorted by seconds, largest first.
std::vector<OpTime> times_by_op(const Session& session, const Profile& profile);

// A table with a line for each phase and op, and a line for all. Columns: runs and milliseconds for each step, share of
// the time, GFLOP/s, GB/s, the time that the op would need at the machine's limits (the longer of the times for FLOPs
// and for bytes) as a share of its measured time, and OpTime::busy. `steps`: how many steps the profile has.
std::string profile_table(const Session& session, const Profile& profile,
                          const MachineLimits& limits, int64_t steps);

// Calls visit(thread, span, node) for each span of a thread that starts while a node runs. node is the index in
// profile.nodes. Spans of a thread and nodes are in the order of time, so one walk over both suffices.
template <class Visit>
void for_each_span(const Profile& profile, Visit&& visit) {
  for (size_t t = 0; t < profile.threads.size(); ++t) {
    std::vector<ThreadSpan> spans = profile.threads[t];
    std::sort(spans.begin(), spans.end(),
              [](const ThreadSpan& a, const ThreadSpan& b) { return a.begin < b.begin; });
    size_t node = 0;
    for (const ThreadSpan& s : spans) {
      while (node < profile.nodes.size() && profile.nodes[node].end < s.begin) ++node;
      if (node == profile.nodes.size()) break;
      if (s.begin >= profile.nodes[node].begin) visit(t, s, node);
    }
  }
}

// The profile in Chrome's trace event format, for chrome://tracing and Perfetto: a row for each thread, a slice for
// each node with its scope and kernel, and slices "wait" while a thread waits for other threads.
std::string chrome_trace(const Session& session, const Profile& profile);

}  // namespace hone
