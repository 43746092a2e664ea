// Times single optimizer steps for `hone bench`, and makes rows for them.
#pragma once

#include "engine/session/xplane.h"
#include "learn/harness/examples.h"

namespace hone {

struct TimedSteps {
  std::vector<double> seconds, losses;   // time and loss of each step
  std::vector<int64_t> tokens;           // number of tokens of each step
  Profile profile;                       // times of the parts of the steps in `in_profile`
  std::vector<ProfiledStep> in_profile;  // with `profiled`: all steps except the first; else empty
  // Set this before run(). True: run() also fills `profile` and `in_profile`.
  bool profiled = false;

  // Runs the steps 0 .. count - 1 by calling `take` for each, and logs the time and loss of each. Errors: those of
  // `take`; H1323 the device failed.
  Status run(Session& session, int64_t count, FunctionRef<Result<StepSums>(int64_t step)> take);
};

struct BlockShape {
  int64_t rows = 0, tokens = 0;  // number of rows; tokens of each row
  int64_t vocab = 0;             // ids are below this number
};
// Makes shape.rows rows of equal length. Joins the token ids in the column "ids" of all rows of a data file and cuts
// them into the rows. If the file has too few ids, the rest are zeros. If `file` is "", the ids are a fixed pattern.
// Errors: those of the file.
Result<ExampleRows> read_blocks(const std::string& file, const BlockShape& shape);

// Floating-point operations of a step, counted for benchmarks: attention's backward pass and recomputed nodes are not
// counted.
double benchmark_flops(const Program& step);

}  // namespace hone
