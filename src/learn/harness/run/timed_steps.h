// Times single optimizer steps for `hone bench`, and makes rows for them.
#pragma once

#include "engine/session/xplane.h"
#include "learn/harness/examples.h"

namespace hone {

struct TimedSteps {
  std::vector<double> seconds, losses;   // by step
  std::vector<int64_t> tokens;           // by step
  Profile profile;                       // times of the parts of the steps in `in_profile`
  std::vector<ProfiledStep> in_profile;  // all steps but the first, if `profiled`
  bool profiled = false;                 // set before run(): also fill `profile`

  // Takes the steps 0 .. count - 1 and logs the time and loss of each. `take` runs a step. Errors: those of `take`;
  // H1323 the device failed.
  Status run(Session& session, int64_t count, FunctionRef<Result<StepSums>(int64_t step)> take);
};

struct BlockShape {
  int64_t rows = 0, tokens = 0;  // number of rows; tokens of each row
  int64_t vocab = 0;             // ids are below this number
};
// Makes rows of equal length from the token ids in the column "ids" of a data file, joined. If the file has too few
// ids, the rest are zeros. If `file` is "", the ids are a fixed pattern. Errors: those of the file.
Result<ExampleRows> read_blocks(const std::string& file, const BlockShape& shape);

// Floating-point operations of a step, counted for benchmarks: without attention's backward pass and without recomputed
// nodes.
double benchmark_flops(const Program& step);

}  // namespace hone
