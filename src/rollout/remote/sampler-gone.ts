/** The sampler could not be reached, or broke off: no fault of the request, which another one may answer. */
export class SamplerGone extends Error {}
