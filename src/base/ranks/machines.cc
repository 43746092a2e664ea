#include "base/ranks/machines.h"

#include <algorithm>

#include "base/core/clock.h"
#include "base/core/error_report.h"
#include "base/core/log.h"
#include "base/ranks/connection.h"
#include "base/ranks/errors.h"

namespace hone {
namespace {

constexpr double kLookSeconds = 0.02;

MachinePlace place_in(const Json& head) {
  const auto number = [&head](const char* name) {
    return static_cast<int>(std::clamp<int64_t>(whole_at(head, name), 0, INT32_MAX));
  };
  return {.machine = number("machine"),
          .epoch = whole_at(head, "epoch"),
          .ranks = number("ranks"),
          .full_ranks = number("full_ranks"),
          .first_rank = number("first_rank"),
          .over = text_at(head, "do") == "over",
          .status = number("status")};
}

}  // namespace

Result<std::optional<MachinePlace>> ask_place(const World& at, const std::string& token,
                                              const MachineRequest& mine, double patience_s,
                                              const std::function<bool()>& stops) {
  const auto held = std::make_shared<FrameConnection>(
      HONE_TRY(connect_to(at.address, at.port,
                          {.patience_s = patience_s,
                           .say = [](const std::string& line) { log_info("{}", line); }})),
      kRankLimits);
  FrameConnection& connection = *held;
  connection.queue({{{"do", "machine"},
                     {"token", token},
                     {"machine", mine.machine},
                     {"slots", mine.slots},
                     {"host", mine.host}},
                    ""});
  bool open = true;
  while (open && !stops()) {
    open = connection.write() && connection.read();
    const std::optional<Frame> frame = HONE_TRY(connection.next());
    if (!frame) {
      system_clock().sleep(kLookSeconds);
      continue;
    }
    const std::string what = text_at(frame->head, "do");
    if (what == "place" || what == "over") {
      MachinePlace place = place_in(frame->head);
      if (!place.over) place.held = held;
      return std::optional(std::move(place));
    }
    std::optional<Error> error = reported_error(frame->body);
    if (what == "refused" && error) return std::move(*error);
  }
  if (stops()) return std::optional<MachinePlace>();
  return Error(err::kControlLost,
               fmt::format("the control plane at {}:{} ended the connection", at.address, at.port))
      .todo("read the last lines of the launcher on machine 0");
}

void leave_place(MachinePlace& place) {
  place.held->queue({{{"do", "ended"}}, ""});
  (void)place.held->write();
  place.held.reset();
}

}  // namespace hone
