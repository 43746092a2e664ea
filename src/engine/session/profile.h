// Reports of a session's profile: seconds by op against the machine's limits, and a trace.
//   Profile profile;
//   session.profile_into(&profile);   session.run(0);   session.profile_into(nullptr);
//   profile_table(session, profile, HONE_TRY(measure_limits(backend)), 1)
#pragma once

#include <algorithm>

#include "engine/session/session.h"

namespace hone {

// The best speeds of the machine now. Clocks drift, so measure them together with the profile.
struct MachineLimits {
  double flops = 0;  // a second, by a square product in f32 or bf16, without copies from the host
  double bytes = 0;  // a second, read and written, by the sum of two tensors
};
// On a CPU: a product of 2048^3, tensors of 64 MiB, about a second and 200 MiB. Elsewhere sizes grow
// until the device takes 2 ms, to at most 8192^3 and 1 GiB.
Result<MachineLimits> measure_limits(const Backend& backend, bool bf16 = false);

// The runs of one op in one phase.
struct OpTime {
  std::string phase;  // "forward", "backward" or "update"
  std::string op;
  int64_t runs = 0;
  int64_t launches = 0;                      // of kernels, on a device of its own
  double seconds = 0, flops = 0, bytes = 0;  // flops and bytes by the op's cost
  double busy = 0;                           // share of the threads' time spent working, 0 to 1
};
// Sorted by seconds, largest first.
std::vector<OpTime> times_by_op(const Session& session, const Profile& profile);

// One line an op: milliseconds a step, share, GFLOP/s, GB/s, the share of the limit (of the one
// that takes longer), the share of the threads' time spent working.
std::string profile_table(const Session& session, const Profile& profile,
                          const MachineLimits& limits, int64_t steps);

// Calls visit(thread, span, node) for each span of a thread inside a node, by its index in
// profile.nodes. Both rise with time: one walk over both.
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

// Chrome's trace event format (chrome://tracing, Perfetto): a row per thread, a slice per node with
// its scope and kernel, slices "wait" while a thread waits for the others.
std::string chrome_trace(const Session& session, const Profile& profile);

}  // namespace hone
