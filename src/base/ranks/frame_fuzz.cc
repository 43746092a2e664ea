// Any bytes as the stream of a connection, cut anywhere: refused, or frames that read back equal. Then
// the same frames as messages of strangers and of ranks to a control plane.
#include <algorithm>

#include "base/ranks/control_state.h"
#include "base/ranks/frame.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hone;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  FrameReader reader(kRankLimits);
  ControlState state({.ranks = 2, .token = "t"});
  const Frame join{{{"do", "join"}, {"token", "t"}, {"ranks", 2}, {"epoch", 1}, {"rank", 1}}, ""};
  state.receive(1, join, 0);
  double now = 0;
  for (size_t at = 0, step = 1; at < size; at += step, step = step % 13 + 1) {
    reader.add(bytes.substr(at, step));
    for (;;) {
      const Result<std::optional<Frame>> frame = reader.next();
      if (!frame.ok()) return 0;
      if (!*frame) break;
      FrameReader again(kRankLimits);
      again.add(encode_frame(**frame));
      const Result<std::optional<Frame>> same = again.next();
      HONE_BUG_IF(!same.ok() || !*same || (*same)->head != (*frame)->head ||
                      (*same)->body != (*frame)->body,
                  "a frame is lost in a round trip");
      now += 0.5;
      for (const int64_t connection : {1, 2})
        for (const ControlState::Out& out : state.receive(connection, **frame, now))
          (void)encode_frame(out.frame);
      state.tick(now);
    }
  }
  state.closed(1, now);
  return 0;
}
