// A backend on the CPU plug-in, for tests that need one.
#pragma once

#include <gtest/gtest.h>

#include "engine/backends/xla/backend.h"

// `backend`: a std::unique_ptr<Backend>; without a plug-in the test is skipped with the reason.
#define HONE_XLA_OR_SKIP(backend)                                     \
  auto opened = xla::open_backend({.name = "xla_cpu", .threads = 2}); \
  if (!opened.ok()) GTEST_SKIP() << opened.error().text();            \
  const std::unique_ptr<Backend> backend = std::move(*opened)
