// The state of one rank of a run, as others see it: its progress, and the error that ended it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/error.h"
#include "base/core/json.h"

namespace hone {

// The present work of a rank.
struct RankProgress {
  int64_t step = -1;       // of the optimizer; -1: before the first
  int64_t collective = 0;  // number of those that it has reached, equal on all ranks at one node
  std::string node = {};   // the last of them: "all_reduce of h.3.attn.c_attn.weight"
  bool waiting = false;    // is inside that collective
  std::string work = {};   // work of the host: "evaluation", "tokenizing train.csv"; "": none
  int64_t work_done = 0, work_total = 0;
  double since_s = 0;  // seconds since it waits, computes or does that work
  // While it waits in a collective, by its connections to other ranks; -1: not measured.
  int64_t moved_bytes = -1;
  // Seconds of its last steps without those in which it waited for other ranks.
  int64_t timed_steps = 0;
  double busy_p50_s = 0, busy_p99_s = 0;

  std::string text() const;  // "evaluation, 312 of 872, for 14s, after step 7"
};
Json progress_json(const RankProgress& progress);
RankProgress progress_of(const Json& json);

// The error that ended a rank.
struct RankFailure {
  int rank = 0;
  std::string host = {};
  RankProgress progress = {};  // at that time
  Error error;
  // The error of a rank whose peer was lost, such as a connection that was closed: the peer's own
  // error, if there is one, came first.
  bool follows = false;

  // "rank 2 on host b failed first at step 7 in 'all_reduce ...': H0107 cannot read https://..."
  std::string sentence() const;
  // H0129 with this sentence, and the places and the remedy of the error.
  Error to_others() const;
};
Json failure_json(const RankFailure& failure);  // without the error
// `report`: a line of report_line() (base/core/error_report.h); H0130 if it cannot be read.
RankFailure failure_of(const Json& json, std::string_view report);

// A rank that has not come to a place where others wait.
struct MissingRank {
  int rank = 0;
  std::string host = {};  // "": unknown, it has not joined
  // "evaluation, 312 of 872, for 14s", "has not joined", "is silent for 8s: ..."
  std::string doing = {};
  bool ended = false;  // it has finished, so nobody needs to wait for it
  double ended_s = 0;  // seconds since then

  std::string text() const;  // "rank 2 on host b: evaluation, 312 of 872, for 14s"
};

// Times that the steps of a rank compute (RankProgress).
struct RankTimes {
  int rank = 0;
  std::string host = {};
  int64_t timed_steps = 0;
  double busy_p50_s = 0, busy_p99_s = 0;
};

// "rank 3 on host b".
std::string rank_name(int rank, const std::string& host);
// Texts of `missing`, one after another; long lists are cut.
std::string missing_text(const std::vector<MissingRank>& missing);

}  // namespace hone
