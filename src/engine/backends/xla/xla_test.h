// Opens the backend xla_cpu, for tests that need one.
#pragma once

#include <gtest/gtest.h>

#include "engine/backends/xla/backend.h"

// Declares `backend`, a const std::unique_ptr<Backend>. If the plug-in is missing, the test is skipped with the reason.
#define HONE_XLA_OR_SKIP(backend)                                     \
  auto opened = xla::open_backend({.name = "xla_cpu", .threads = 2}); \
  if (!opened.ok()) GTEST_SKIP() << opened.error().text();            \
  const std::unique_ptr<Backend> backend = std::move(*opened)
