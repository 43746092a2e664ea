// Computes the largest singular values of a matrix and their vectors, in double precision. The result has the same
// bits for any number of threads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/core/threads.h"

namespace hone {

// The r largest singular values of W [m, n]: left * diag(values) * right is the best approximation of W of rank r.
// Values are in descending order. A value of 0 has vectors of zeros.
struct PrincipalParts {
  std::vector<double> left;    // [m, r]
  std::vector<double> values;  // [r]
  std::vector<double> right;   // [r, n]
};

// Computes them exactly. `w`: [m, n], row-major; r >= 1. Method: Householder's tridiagonal form of the smaller one of
// W W^T and W^T W (Golub and Van Loan, Matrix Computations, 8.3), bisection and inverse iteration. Takes memory for
// min(m, n)^2 doubles.
PrincipalParts principal_parts(std::span<const float> w, int64_t m, int64_t n, int64_t r,
                               ThreadPool& threads);
// Computes them approximately and faster: Halko, Martinsson and Tropp 2011 (arXiv 0909.4061), algorithms 4.4 and 5.1.
// `iterations`: the number of power iterations, at least 0. `seed`: of the random start. The result is close if the
// singular values decrease quickly.
PrincipalParts principal_parts_by_iteration(std::span<const float> w, int64_t m, int64_t n,
                                            int64_t r, int64_t iterations, uint64_t seed,
                                            ThreadPool& threads);

}  // namespace hone
