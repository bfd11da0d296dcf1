# Called by mixture.py:
#   Rscript mixture.R compile FOLDER   makes model.rds and compile.json
#   Rscript mixture.R sample FOLDER    reads these and input.json, makes draws.bin and
#                                      output.json
suppressPackageStartupMessages(library(rstan))
rstan_options(boost_lib = "/usr/include")

arguments <- commandArgs(trailingOnly = TRUE)
folder <- function(name) file.path(arguments[2], name)
write <- function(value, name) {
  writeLines(jsonlite::toJSON(value, auto_unbox = TRUE, digits = NA), folder(name))
}

if (arguments[1] == "compile") {
  seconds <- system.time(model <- stan_model(folder("mixture.stan")))[["elapsed"]]
  saveRDS(model, folder("model.rds"))
  write(list(compile = seconds), "compile.json")
} else {
  model <- readRDS(folder("model.rds"))
  input <- jsonlite::fromJSON(folder("input.json"), simplifyDataFrame = FALSE)
  chain <- function(i) {
    sampling(
      model, input$data,
      pars = c("pi", "beta", "sigma", "gamma", "s"), include = TRUE,
      chains = 1, chain_id = i, seed = input$seed, cores = 1, refresh = 0,
      warmup = input$tune, iter = input$tune + input$draws,
      init = if (is.null(input$init)) "random" else list(input$init[[i]]),
      control = list(adapt_delta = input$accept)
    )
  }
  # Forked processes: those that rstan starts itself each load rstan first.
  wall <- system.time(
    fits <- parallel::mclapply(
      seq_len(input$chains), chain, mc.cores = input$cores, mc.preschedule = FALSE
    )
  )[["elapsed"]]
  for (fit in fits) {
    if (inherits(fit, "try-error")) stop(fit)
    if (length(fit@sim) == 0) stop("a chain did not start")
  }
  fit <- sflist2stanfit(fits)
  stats <- get_sampler_params(fit, inc_warmup = TRUE)
  after <- lapply(stats, function(x) x[-seq_len(input$tune), , drop = FALSE])
  total <- function(list, name) sum(sapply(list, function(x) sum(x[, name])))
  draws <- extract(fit, permuted = FALSE)
  writeBin(as.vector(draws), folder("draws.bin"))
  write(
    list(
      seconds = wall, cpu = sum(get_elapsed_time(fit)),
      gradients = total(stats, "n_leapfrog__"),
      gradients_after = total(after, "n_leapfrog__"),
      divergences = total(after, "divergent__"),
      parameters = dimnames(draws)$parameters
    ),
    "output.json"
  )
}
