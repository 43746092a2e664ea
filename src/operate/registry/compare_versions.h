// Two versions of models side by side: files, data, metrics and the settings of their runs.
#pragma once

#include <string>

#include "operate/registry/registry.h"

namespace hone {

struct VersionDifference {
  ModelVersion a, b;
  OrderedJson metrics = OrderedJson::object();   // [a's, b's, b's - a's]; null where one is missing
  OrderedJson settings = OrderedJson::object();  // [a's, b's] of those that differ

  OrderedJson json() const;
};

// Errors: those of the registry.
Result<VersionDifference> compare_versions(Registry& registry, const ModelVersion& a,
                                           const ModelVersion& b);

}  // namespace hone
