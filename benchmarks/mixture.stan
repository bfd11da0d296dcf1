// The model of pseudopost.MixtureSynthesizer, with the allocations summed out.
data {
  int<lower=1> n;
  int<lower=1> R;
  int<lower=1> K;
  vector[n] log_y;
  matrix[n, R] X;
  vector<lower=0>[n] weights;
  real<lower=0> min_sigma;
  real<lower=1> lkj_shape;
}
transformed data {
  matrix[R + 1, n] yX = append_row(log_y', X');
}
parameters {
  real<lower=0> gamma;
  vector[K] x;
  matrix[R, K] beta;
  cholesky_factor_corr[R] L_Omega;
  vector<lower=0>[R] s;
  vector<lower=0>[K] excess;
}
transformed parameters {
  vector[K] sigma = min_sigma + excess;
  matrix[R, R] L = diag_pre_multiply(s, L_Omega);
}
model {
  vector[K] log_pi = log_softmax(x);
  vector[K] constant = log_pi - log(sigma);
  vector[K] scale = sqrt(0.5) * inv(sigma);
  // Standardised residuals, over the root of 2, from one product of matrices.
  matrix[K, n] e = append_row(scale', diag_post_multiply(-beta, scale))' * yX;
  vector[n] log_density;

  gamma ~ exponential(1);
  // pi ~ Dirichlet(gamma / K, ...). A simplex would round small elements to 0, where
  // this density is infinite. The sum of exp(x) means nothing; any prior on it will do.
  target += lgamma(gamma) - K * lgamma(gamma / K) + gamma / K * sum(log_pi);
  target += std_normal_lpdf(log_sum_exp(x));
  L_Omega ~ lkj_corr_cholesky(lkj_shape);
  s ~ student_t(3, 0, 1);
  excess ~ student_t(3, 0, 1);
  to_vector(mdivide_left_tri_low(L, beta)) ~ std_normal();
  target += -K * sum(log(diagonal(L)));

  for (i in 1:n) log_density[i] = log_sum_exp(constant - square(col(e, i)));
  target += dot_product(weights, log_density);
}
generated quantities {
  vector[K] pi = softmax(x);
}
