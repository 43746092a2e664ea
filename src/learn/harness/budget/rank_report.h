// The plan of a run on several equal devices, a rank each, with the layouts that were tried.
#pragma once

#include "engine/backends/backends.h"
#include "learn/harness/budget/plan_report.h"
#include "learn/harness/budget/ranks.h"

namespace hone {

struct RankReport : PlanSubject {
  DeviceGroup group;
  ArenaLimits limits;
  std::vector<RankPlan> tried;  // the last one fits, or nothing does

  bool fits() const { return tried.back().rows > 0; }
  OrderedJson json() const;
  std::string text() const;
};

// Errors: those of the task and of its settings.
Result<RankReport> rank_report(const Task& task, const Pretrained& model, const DeviceGroup& group);

}  // namespace hone
