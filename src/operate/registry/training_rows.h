// Compares the rows that two versions were trained on.
#pragma once

#include "operate/registry/registry.h"

namespace hone {

// Whether `a` may have been trained on rows that `b` was not trained on. This is so if their training files differ or
// are unknown, if `b` was trained on another part of the files, or if `a` began from a registered version from which
// `b` did not begin. Errors: those of the registry.
Result<bool> may_know_more(Registry& registry, const ModelVersion& a, const ModelVersion& b);

}  // namespace hone
