// The rows that two versions were trained on.
#pragma once

#include "operate/registry/registry.h"

namespace hone {

// Whether `a` may have been trained on rows that `b` was not: their training files differ or are unknown, `b` was trained
// on another part of them, or `a` began from a version that `b` did not begin from. Errors: those of the registry.
Result<bool> may_know_more(Registry& registry, const ModelVersion& a, const ModelVersion& b);

}  // namespace hone
