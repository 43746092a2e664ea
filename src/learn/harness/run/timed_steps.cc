#include "learn/harness/run/timed_steps.h"

#include "base/core/clock.h"
#include "base/core/log.h"
#include "engine/ops/cost.h"
#include "learn/data/rows/files.h"

namespace hone {

Status TimedSteps::run(Session& session, int64_t count,
                       FunctionRef<Result<StepSums>(int64_t)> take) {
  for (int64_t step = 0; step < count; ++step) {
    if (profiled && step == 1) session.profile_into(&profile);
    const double start = system_clock().seconds();
    const StepSums sums = HONE_TRY(take(step));
    HONE_TRY(session.check());  // a device that failed answers at once, with old numbers
    const double end = system_clock().seconds();
    if (profiled && step > 0) in_profile.push_back({step + 1, start, end});
    seconds.push_back(end - start);
    losses.push_back(sums.loss);
    tokens.push_back(sums.tokens);
    log_info("step {}: {:.3f} s, loss {:.5f}", step + 1, seconds.back(), losses.back());
  }
  session.profile_into(nullptr);
  return Ok{};
}

Result<ExampleRows> read_blocks(const std::string& file, const BlockShape& shape) {
  const int64_t count = shape.rows * shape.tokens;
  std::vector<int32_t> ids;
  if (file.empty()) {
    for (int64_t i = 0; i < count; ++i)
      ids.push_back(static_cast<int32_t>((i * 7919 + 13) % shape.vocab));
  } else {
    auto reader = HONE_TRY(open_rows({file}));
    const size_t column = HONE_TRY(text_column(*reader, "ids"));
    Row row;
    while (HONE_TRY(reader->next(row)))
      if (auto* list = std::get_if<std::vector<int64_t>>(&row.cells[column]))
        ids.insert(ids.end(), list->begin(), list->end());
    ids.resize(static_cast<size_t>(count), 0);
  }
  TokenRows rows;
  const auto length = static_cast<size_t>(shape.tokens);
  for (int64_t i = 0; i < shape.rows; ++i)
    rows.add(std::span(ids).subspan(static_cast<size_t>(i) * length, length));
  return ExampleRows(std::move(rows));
}

double benchmark_flops(const Program& step) {
  double flops = 0;
  for (const Node& n : step.nodes)
    if (n.op->name != "attention_grad" && !n.clone) flops += cost_of({step, n}).flops;
  return flops;
}

}  // namespace hone
