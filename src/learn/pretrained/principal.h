// The largest singular values of a matrix with their vectors, in double precision: the same bits for any number of
// threads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/core/threads.h"

namespace hone {

// W is nearly left * diag(values) * right. Values fall; those that are 0 have vectors of zeros.
struct PrincipalParts {
  std::vector<double> left;    // [m, r]
  std::vector<double> values;  // [r]
  std::vector<double> right;   // [r, n]
};

// `w`: [m, n], row-major; r is at least 1. By Householder's tridiagonal form of the smaller Gram matrix (Golub and Van
// Loan, Matrix Computations, 8.3), bisection and inverse iteration. Takes memory for min(m, n)^2 doubles.
PrincipalParts principal_parts(std::span<const float> w, int64_t m, int64_t n, int64_t r,
                               ThreadPool& threads);
// Halko, Martinsson and Tropp 2011 (arXiv 0909.4061), algorithms 4.4 and 5.1, with a random start of that seed and
// `iterations` turns: fast, and near if values fall.
PrincipalParts principal_parts_by_iteration(std::span<const float> w, int64_t m, int64_t n,
                                            int64_t r, int64_t iterations, uint64_t seed,
                                            ThreadPool& threads);

}  // namespace hone
