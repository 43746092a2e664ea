// The state of one rank of a run, which other ranks and the launcher see: its progress, and the error that ended it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/error.h"
#include "base/core/json.h"

namespace hone {

// The present work of a rank. A collective is an operation in which all ranks take part, such as an all-reduce.
struct RankProgress {
  int64_t step = -1;       // the optimizer step; -1: before the first step
  int64_t collective = 0;  // the number (from 1) of the last collective reached; 0: none
  std::string node = {};   // the name of that collective: "all_reduce of h.3.attn.c_attn.weight"
  bool waiting = false;    // the rank is inside that collective
  std::string work = {};   // work besides optimizer steps: "evaluation"; "": none
  int64_t work_done = 0, work_total = 0;  // units of that work; total 0: unknown
  double since_s = 0;  // the duration of the present wait, computation or work, in seconds
  // The bytes that the rank's TCP connections have moved so far, measured while it waits; -1: not measured.
  int64_t moved_bytes = -1;
  // The number of timed steps, and the median and 99th percentile of their times in seconds, without the time spent
  // waiting for other ranks.
  int64_t timed_steps = 0;
  double busy_p50_s = 0, busy_p99_s = 0;

  std::string text() const;  // "evaluation, 312 of 872, for 14s, at step 7"
};
// Convert progress to the JSON of heartbeats and back. Missing members are read as 0, false or "".
Json progress_json(const RankProgress& progress);
RankProgress progress_of(const Json& json);

// The error that ended a rank.
struct RankFailure {
  int rank = 0;
  std::string host = {};
  RankProgress progress = {};  // the progress when it failed
  Error error;
  // True: the error is a consequence of another rank's end, such as a closed connection. The error of that other rank,
  // if there is one, is the first failure.
  bool follows = false;

  // "rank 2 on host b failed first at step 7 in 'all_reduce ...': H0107 cannot read https://..."
  std::string sentence() const;
  // The Error for the other ranks: H0129 with sentence() as its message, and the places and the remedy of `error`.
  Error to_others() const;
};
// The members of a failure except the error; report_line() (base/core/error_report.h) makes the text of the error.
Json failure_json(const RankFailure& failure);
// The reverse of failure_json() and report_line(). If `report` cannot be read, the error is H0130.
RankFailure failure_of(const Json& json, std::string_view report);

// A rank for which other ranks wait.
struct MissingRank {
  int rank = 0;
  std::string host = {};  // "": unknown, because the rank has not joined
  // The present work or state: "evaluation, 312 of 872, for 14s, at step 7", "has not joined", "is silent for 8s: ..."
  std::string doing = {};
  bool ended = false;  // the rank has finished: it will never come
  double ended_s = 0;  // if `ended`: the seconds since then

  std::string text() const;  // "rank 2 on host b: evaluation, 312 of 872, for 14s, at step 7"
};

// The step times of a rank, with the meanings in RankProgress.
struct RankTimes {
  int rank = 0;
  std::string host = {};
  int64_t timed_steps = 0;
  double busy_p50_s = 0, busy_p99_s = 0;
};

// "rank 3 on host b"; "rank 3" if `host` is "".
std::string rank_name(int rank, const std::string& host);
// MissingRank::text() of up to 8 ranks, separated by semicolons, and the number of further ranks.
std::string missing_text(const std::vector<MissingRank>& missing);

}  // namespace hone
